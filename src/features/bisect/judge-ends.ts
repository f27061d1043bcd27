import type { CellComparison } from '../../records/verdict.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import { spentQ } from '../../statistics/multiple-tests.ts';

/** Runs of the two ends, one positive value a run. */
export interface Ends {
  readonly good: readonly number[];
  readonly bad: readonly number[];
  readonly betterIs: 'lower' | 'higher';
}

export interface EndsDecision {
  readonly kind: 'slower' | 'notSlower' | 'more';
  /** Null without a run on both sides. */
  readonly comparison: CellComparison | null;
}

/** From so many runs a side the variance of one cell alone keeps the promise of `spentQ` (3.0 % in 20,000 trials). */
const LEAST_END_RUNS = 4;
/** Smaller changes are not worth a search. */
const LEAST_PERCENT = 1;

/**
 * Whether the bad end is slower than the good one; to be asked after each run of both. They are measured until a
 * change of the size of theirs would be seen nine times in ten: every candidate is held against them.
 */
export function judgeEnds(ends: Ends): EndsDecision {
  const runs = Math.min(ends.good.length, ends.bad.length);
  const comparison = changeFrom(ends.good, ends.bad, ends.betterIs, spentQ(Math.max(1, runs - LEAST_END_RUNS + 1)));
  if (comparison === null || runs < LEAST_END_RUNS) return { kind: 'more', comparison };
  const { verdict, changePercent, mdePercent } = comparison;
  if (verdict === 'faster') return { kind: 'notSlower', comparison };
  if (verdict === 'same' && worstPercent(comparison, ends.betterIs) < LEAST_PERCENT) {
    return { kind: 'notSlower', comparison };
  }
  const isPrecise = (mdePercent ?? Infinity) <= Math.abs(changePercent ?? 0);
  return { kind: verdict === 'slower' && isPrecise ? 'slower' : 'more', comparison };
}

/** The change of one side against another with its interval; null without a run on both. */
export function changeFrom(
  base: readonly number[],
  head: readonly number[],
  betterIs: 'lower' | 'higher',
  q?: number,
): CellComparison | null {
  return compareCells([{ cellKey: '', base, head, betterIs }], { q }).cells[0] ?? null;
}

/** The upper end of the change for the worse, in percent. */
function worstPercent({ ciPercent }: CellComparison, betterIs: 'lower' | 'higher'): number {
  const [low, high] = ciPercent ?? [-Infinity, Infinity];
  return betterIs === 'lower' ? high : -low;
}
