import { compareCells } from '../../src/judge/compare/compare-cells.ts';
import { findChangePoints, lastingChanges } from '../../src/judge/history/lasting-changes.ts';
import type { CellHistory } from '../../src/judge/history/noise.ts';
import type { Verdict } from '../../src/records/verdict.ts';
import { runCentre } from '../../src/trtexec/log/derived.ts';
import type { LabelledCell, LabelledHistory } from './labelled.ts';
import type { Alarm, CellVerdict, NightAlarm } from './score.ts';

/** What the detector is given of a history: the measured places, no labels. */
export function nightlyValues(history: Pick<LabelledHistory, 'values' | 'clock'>): CellHistory {
  const places = history.values.flatMap((value, place) => (value === null ? [] : [place]));
  return {
    places,
    values: Float64Array.from(places, (place) => history.values[place] ?? Number.NaN),
    clock: places.map((place) => history.clock[place] ?? null),
  };
}

/** Our change points, each history seen whole. */
export function ourAlarms(histories: readonly LabelledHistory[]): Map<string, Alarm[]> {
  return new Map(
    histories.map((history) => [
      history.id,
      findChangePoints(nightlyValues(history)).map(({ place, shift }) => ({ index: place, sign: shift > 0 ? 1 : -1 })),
    ]),
  );
}

/** What our nightly gate would have told, night by night. */
export function ourNightAlarms(histories: readonly LabelledHistory[]): Map<string, NightAlarm[]> {
  return new Map(
    histories.map((history) => [
      history.id,
      lastingChanges(nightlyValues(history)).map(({ knownAt, place, shift }) => ({
        night: knownAt,
        index: place,
        sign: shift > 0 ? 1 : -1,
      })),
    ]),
  );
}

const WORDS: ReadonlyMap<Verdict, CellVerdict> = new Map([
  ['slower', 'larger'],
  ['faster', 'smaller'],
  ['same', 'same'],
]);

/** Our verdicts by cell; each matrix is judged as a whole. */
export function ourVerdicts(cells: readonly LabelledCell[]): Map<string, CellVerdict> {
  const matrices = [...Map.groupBy(cells, ({ matrix }) => matrix).values()];
  return new Map(
    matrices.flatMap((matrix) =>
      compareCells(
        matrix.map(({ cell, a, b, past }) => ({
          cellKey: cell,
          base: a.map(runCentre),
          head: b.map(runCentre),
          past: past ?? [],
          betterIs: 'lower',
        })),
      ).cells.map(({ cellKey, verdict }): [string, CellVerdict] => [cellKey, WORDS.get(verdict) ?? 'unclear']),
    ),
  );
}
