import { noiseKindOf } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import type { TwoSides } from '../../judge/compare/compare-cells.ts';
import { median } from '../../statistics/median.ts';
import { PAST_WINDOW_NIGHTS, pastValues } from '../../judge/past-values.ts';
import { balancedSplit, SPLITS } from './balanced-splits.ts';
import type { CellSeries, SweepRuns } from './cell-series.ts';

/** Cells whose two sides are the same engine on the same machine: every change that is called in them is a false alarm. */
export type SameMatrix = readonly TwoSides[];

/** Each sweep against itself: its repeats in two halves, in up to three ways. */
export function halvesOfSweeps(series: readonly CellSeries[], sweeps: number): SameMatrix[] {
  const found: SameMatrix[] = [];
  for (let place = 0; place < sweeps; place += 1) {
    const there = series.flatMap((one) => {
      const runs = one.sweeps.find((sweep) => sweep.place === place);
      return runs === undefined ? [] : [{ one, runs, past: pastBefore(one, place, runs.values) }];
    });
    for (let way = 0; way < SPLITS; way += 1) {
      const sides = there.flatMap(({ one, runs, past }) => {
        const split = balancedSplit(runs.values.length, way);
        if (split === null) return [];
        const half = (which: boolean) => runs.values.filter((_, run) => split[run] === which);
        return [sidesOf(one, half(false), half(true), past)];
      });
      if (sides.length > 0) found.push(sides);
    }
  }
  return found;
}

/** One run a side is never called, so that it says nothing of false calls. */
const LEAST_RUNS = 2;

/** Neighbouring sweeps that ran the same engines, the newest first; no sweep is used twice. */
export function neighbouringSweeps(series: readonly CellSeries[], sweeps: number): SameMatrix[] {
  const found: SameMatrix[] = [];
  for (let place = sweeps - 1; place > 0; place -= 1) {
    const sides = series.flatMap((one) => {
      const base = enoughRuns(one, place - 1);
      const head = enoughRuns(one, place);
      if (base === null || head === null) return [];
      if (base.origin === null || base.origin !== head.origin) return [];
      const past = pastBefore(one, place - 1, base.values);
      return [sidesOf(one, base.values, head.values, past)];
    });
    if (sides.length === 0) continue;
    found.push(sides);
    place -= 1;
  }
  return found;
}

function enoughRuns({ sweeps }: CellSeries, place: number): SweepRuns | null {
  const runs = sweeps.find((sweep) => sweep.place === place);
  return runs !== undefined && runs.values.length >= LEAST_RUNS ? runs : null;
}

function sidesOf(
  { cell, metric }: CellSeries,
  base: readonly number[],
  head: readonly number[],
  past: readonly number[],
): TwoSides {
  const kind = noiseKindOf(cell);
  return { cellKey: cell.key, base, head, past, kind, betterIs: metricOf(metric).betterIs };
}

/**
 * What the sweeps before a place say of how much nights differ, as a comparison takes it.
 * @param base runs that say which level it is
 */
export function pastBefore({ sweeps }: CellSeries, place: number, base: readonly number[]): readonly number[] {
  const before = sweeps.filter((sweep) => sweep.place < place).slice(-PAST_WINDOW_NIGHTS);
  return pastValues(
    nightlyValues(before),
    before.map(({ values }) => values.length),
    base,
  );
}

/** One value a sweep, as the detectors of histories take them. */
export function nightlyValues(sweeps: readonly SweepRuns[]) {
  const unknown = sweeps.map(() => null);
  return {
    nights: sweeps.map(({ place }) => place),
    values: Float64Array.from(sweeps, ({ values }) => median(values) ?? Number.NaN),
    spread: unknown,
    count: unknown,
    clock: unknown,
  };
}
