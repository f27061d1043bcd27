import { compareCells, type TwoSides } from '../../judge/compare/compare-cells.ts';
import { binomialInterval } from '../../statistics/student-t.ts';
import type { NoiseOutput } from './output.ts';
import { noiseKindOf } from '../../records/cell.ts';
import { isCalled } from '../../records/verdict.ts';
import { metricOf } from '../../records/metric.ts';
import { PAST_WINDOW_NIGHTS, pastValues } from '../../judge/past-values.ts';
import { type CellSeries, nightlyValues, type SweepRuns } from './cell-series.ts';
import { liesBetween, type RealChanges } from './real-changes.ts';

export type FalseAlarms = NoiseOutput['falseAlarms']['halves'];

/** How many cells were compared, and how many of them were called changed. */
type ComparedMatrix = Pick<FalseAlarms, 'cells' | 'calls'>;

/** As `bench compare` judges. */
export function judgeSame(matrices: readonly SameMatrix[]): ComparedMatrix[] {
  return matrices.map((sides) => {
    const { cells } = compareCells(sides);
    return { cells: cells.length, calls: cells.filter(isCalled).length };
  });
}

export function countFalseAlarms(compared: readonly ComparedMatrix[]): FalseAlarms {
  const cellComparisons = sumOf(compared.map(({ cells }) => cells));
  const calls = sumOf(compared.map((one) => one.calls));
  const alarmed = compared.filter((one) => one.calls > 0).length;
  const comparisons = compared.length;
  return {
    comparisons,
    alarmed,
    cells: Math.max(0, ...compared.map(({ cells }) => cells)),
    cellComparisons,
    calls,
    ofCells: shareOf(calls, cellComparisons, clustering(compared, calls, cellComparisons)),
    ofComparisons: shareOf(alarmed, comparisons, 1),
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Clustered trials count less (Korn and Graubard 1998). */
function shareOf(count: number, of: number, factor: number): FalseAlarms['ofCells'] {
  if (of === 0) return null;
  const [low, high] = binomialInterval(count / factor, of / factor);
  return { percent: (100 * count) / of, ciPercent: [100 * low, 100 * high] };
}

/** Design effect, at least 1: a disturbance of the machine affects many cells of one comparison. */
function clustering(compared: readonly ComparedMatrix[], calls: number, of: number): number {
  if (compared.length < 2 || calls === 0 || calls === of) return 1;
  const share = calls / of;
  const squares = sumOf(compared.map((one) => (one.calls - share * one.cells) ** 2));
  const clustered = ((compared.length / (compared.length - 1)) * squares) / of ** 2;
  return Math.max(1, clustered / ((share * (1 - share)) / of));
}

/** Pairs of sides with the same engine on the same machine: every reported change is a false alarm. */
export type SameMatrix = readonly TwoSides[];

/** Each sweep against itself: its repeats in two halves, up to three ways. */
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

/** A single run a side is never reported. */
const LEAST_RUNS = 2;

/**
 * Neighboring sweeps with the same engines, newest first; each sweep is used once.
 * @param changes as of `realChanges`: no call between two sweeps is false where the cell really changed
 * @returns `leftOut`: comparisons of a cell that lie at such a change
 */
export function neighbouringSweeps(series: readonly CellSeries[], sweeps: number, changes: RealChanges = new Map()) {
  const same: SameMatrix[] = [];
  let leftOut = 0;
  for (let place = sweeps - 1; place > 0; place -= 1) {
    const found = series.flatMap((one) => {
      const base = enoughRuns(one, place - 1);
      const head = enoughRuns(one, place);
      if (base === null || head === null) return [];
      if (base.origin === null || base.origin !== head.origin) return [];
      return [{ one, base, head }];
    });
    if (found.length === 0) continue;
    const unchanged = found.filter(({ one }) => !liesBetween(changes.get(one.cell.key) ?? [], place));
    leftOut += found.length - unchanged.length;
    if (unchanged.length > 0) {
      same.push(
        unchanged.map(({ one, base, head }) =>
          sidesOf(one, base.values, head.values, pastBefore(one, place - 1, base.values)),
        ),
      );
    }
    place -= 1;
  }
  return { same, leftOut };
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
 * Sweep-to-sweep noise from the sweeps before a place, as comparisons use it.
 * @param base runs that define the level
 */
export function pastBefore({ sweeps }: CellSeries, place: number, base: readonly number[]): readonly number[] {
  const before = sweeps.filter((sweep) => sweep.place < place).slice(-PAST_WINDOW_NIGHTS);
  const runs = before.map(({ values }) => values.length);
  return pastValues(nightlyValues(before), runs, base);
}

/**
 * First three Walsh patterns: every second run, pairs of runs, and A B B A. Orthogonal among four, eight or twelve
 * runs, so that for normal noise the differences of halves are independent.
 */
const PATTERNS: readonly ((run: number) => boolean)[] = [
  (run) => run % 2 === 1,
  (run) => run % 4 >= 2,
  (run) => run % 4 === 1 || run % 4 === 2,
];

/** Halves of two runs are the smallest that get a verdict. */
const LEAST_HALVED_RUNS = 4;

/** Maximum number of ways to halve. */
export const SPLITS = PATTERNS.length;

/**
 * The n-th way of halving runs: for each, in the order in which they were made, whether it goes to the second half. Null
 * when there are too few, or when the halves differ by more than one run.
 */
export function balancedSplit(runs: number, n: number): readonly boolean[] | null {
  const pattern = PATTERNS[n];
  if (pattern === undefined || runs < LEAST_HALVED_RUNS) return null;
  const split = Array.from({ length: runs }, (_, run) => pattern(run));
  const second = split.filter(Boolean).length;
  return Math.abs(runs - 2 * second) <= 1 ? split : null;
}
