import { compareCells } from '../../src/judge/compare/compare-cells.ts';
import { findChangePoints } from '../../src/judge/history/lasting-changes.ts';
import type { CellHistory } from '../../src/judge/history/noise.ts';
import { runCentre } from '../../src/trtexec/log/derived.ts';
import { medianTimesMs, type Side, timedMs } from '../timing.ts';
import type { LabelledCell, LabelledHistory } from './labelled.ts';
import { nightlyValues } from './ours.ts';
import { Random } from './random.ts';

const PASSES = 9;
const SHORT_NIGHTS = 180;
const LONG_NIGHTS = 5000;

/** Milliseconds of our detectors, one core, after one pass that does not count. */
export interface OurTimes {
  /** A history of the set. */
  readonly history: number;
  /** A history of 180 nights, and one of 5000: without a change, and with one every 250 nights (60 in the short one). */
  readonly short: readonly [steady: number, changing: number];
  readonly long: readonly [steady: number, changing: number];
  /** A cell of a matrix, centres of its runs included. */
  readonly cell: number;
}

export async function ourTimes(
  histories: readonly LabelledHistory[],
  cells: readonly LabelledCell[],
): Promise<OurTimes> {
  const series = histories.map(nightlyValues);
  const matrices = [...Map.groupBy(cells, ({ matrix }) => matrix).values()];
  const times = await medianTimesMs(
    {
      history: async () =>
        (await timedMs(() => series.forEach((history) => findChangePoints(history)))) / series.length,
      shortSteady: repeated(madeHistory(SHORT_NIGHTS, null), 100),
      shortChanging: repeated(madeHistory(SHORT_NIGHTS, 60), 100),
      longSteady: repeated(madeHistory(LONG_NIGHTS, null), 5),
      longChanging: repeated(madeHistory(LONG_NIGHTS, 250), 5),
      cell: async () => (await timedMs(() => matrices.forEach(compareMatrix))) / cells.length,
    },
    PASSES,
  );
  return {
    history: times.history,
    short: [times.shortSteady, times.shortChanging],
    long: [times.longSteady, times.longChanging],
    cell: times.cell,
  };
}

/** One pass looks at a history so many times. */
function repeated(history: CellHistory, count: number): Side {
  const pass = (): void => {
    for (let i = 0; i < count; i += 1) findChangePoints(history);
  };
  return async () => (await timedMs(pass)) / count;
}

function compareMatrix(matrix: readonly LabelledCell[]): void {
  compareCells(
    matrix.map(({ cell, a, b, past }) => ({
      cellKey: cell,
      base: a.map(runCentre),
      head: b.map(runCentre),
      past: past ?? [],
      betterIs: 'lower',
    })),
  );
}

/** 1 % of noise; with `every`, the level moves by 3 % every so many nights. */
export function madeHistory(count: number, every: number | null): CellHistory {
  const random = new Random(count + (every ?? 0));
  const nights = Array.from({ length: count }, (_, night) => night);
  return {
    nights,
    values: Float64Array.from(nights, (night) => {
      const level = every === null ? 0 : 0.03 * (Math.floor(night / every) % 3);
      return Math.exp(level + 0.01 * random.normal());
    }),
    clock: nights.map(() => 1980),
  };
}
