import { compareCells } from '../../judge/compare/compare-cells.ts';
import { binomialInterval } from '../../statistics/binomial-interval.ts';
import type { NoiseOutput } from './output.ts';
import type { SameMatrix } from './same-against-same.ts';

/** What became of comparisons in which nothing had changed. */
export type FalseAlarms = NoiseOutput['falseAlarms']['all'];

export interface ComparedMatrix {
  readonly cells: number;
  readonly calls: number;
}

/** Judges each matrix as `bench compare` does. */
export function judgeSame(matrices: readonly SameMatrix[]): ComparedMatrix[] {
  return matrices.map((sides) => {
    const { cells } = compareCells(sides);
    const called = cells.filter(({ verdict }) => verdict === 'slower' || verdict === 'faster');
    return { cells: cells.length, calls: called.length };
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

/** Trials that come in clusters count for fewer (Korn and Graubard 1998). */
function shareOf(count: number, of: number, factor: number): FalseAlarms['ofCells'] {
  if (of === 0) return null;
  const [low, high] = binomialInterval(count / factor, of / factor);
  return { percent: (100 * count) / of, ciPercent: [100 * low, 100 * high] };
}

/**
 * By how much the share of called cells scatters more than if cells were called independently of each other, at least 1:
 * what disturbs the machine for a while is called in many cells of one comparison.
 */
function clustering(compared: readonly ComparedMatrix[], calls: number, of: number): number {
  if (compared.length < 2 || calls === 0 || calls === of) return 1;
  const share = calls / of;
  const squares = sumOf(compared.map((one) => (one.calls - share * one.cells) ** 2));
  const clustered = ((compared.length / (compared.length - 1)) * squares) / of ** 2;
  return Math.max(1, clustered / ((share * (1 - share)) / of));
}
