import { compareCells } from '../../judge/compare/compare-cells.ts';
import type { CellComparison } from '../../records/verdict.ts';
import { alphaSpent } from '../../statistics/multiple-tests.ts';
import { type EndRuns, judgeCandidate } from './judge-candidate.ts';

/** In order; null for a run without a measurement. */
export interface SideRuns {
  readonly values: readonly (number | null)[];
  /** False when no runs are left, as of recordings. */
  readonly canRun: boolean;
}

export interface TwoEnds {
  readonly good: SideRuns;
  readonly bad: SideRuns;
  readonly betterIs: 'lower' | 'higher';
  /** Of a candidate, and of each end before the first candidate. */
  readonly maxRuns: number;
}

export type EndsTurn =
  | { readonly kind: 'run'; readonly side: 'good' | 'bad' }
  | { readonly kind: 'decided'; readonly verdict: Exclude<EndsDecision['kind'], 'more'> | 'unclear' | 'broken' };

/** Failed runs at the start after which a candidate counts as broken. */
const HOPELESS_RUNS = 2;

/** Alternates good and bad until it is known whether they differ. */
export function endsTurn({ good, bad, betterIs, maxRuns }: TwoEnds): EndsTurn {
  if (good.values.length > bad.values.length && bad.canRun) return { kind: 'run', side: 'bad' };
  const sides = { good: measured(good), bad: measured(bad), betterIs };
  const { kind, comparison } = judgeEnds(sides);
  if (kind !== 'more') return { kind: 'decided', verdict: kind };
  if (isBroken(good) || isBroken(bad)) return { kind: 'decided', verdict: 'broken' };
  if (good.values.length < maxRuns && good.canRun && bad.canRun) return { kind: 'run', side: 'good' };
  const isSlower = comparison?.verdict === 'slower';
  return { kind: 'decided', verdict: isSlower ? 'slower' : 'unclear' };
}

export interface CandidateSides extends TwoEnds {
  readonly candidate: SideRuns;
  /** Runs of the ends before the candidate's first. */
  readonly before: { readonly good: number; readonly bad: number };
  readonly others: readonly (readonly number[])[];
  /** Candidates that the search will judge, as far as known. */
  readonly tests: number;
}

export type CandidateTurn =
  | { readonly kind: 'run'; readonly side: 'good' | 'bad' | 'candidate' }
  | { readonly kind: 'decided'; readonly verdict: StepVerdict; readonly driftPercent: number };

/**
 * Alternates ends and candidate; of the ends, the one with fewer runs. All runs of the ends count for every candidate,
 * so each candidate needs few.
 */
export function candidateTurn(sides: CandidateSides): CandidateTurn {
  const { good, bad, candidate, before, maxRuns, others, tests } = sides;
  const inTurn = good.values.length - before.good + (bad.values.length - before.bad);
  const end = nextEnd(good, bad);
  if (end !== null && inTurn > candidate.values.length && candidate.canRun) {
    return { kind: 'run', side: 'candidate' };
  }
  const { kind, driftPercent } = judgeCandidate({
    good: endRuns(good, before.good),
    bad: endRuns(bad, before.bad),
    candidate: measured(candidate),
    others,
    tests,
  });
  if (kind !== 'more') return { kind: 'decided', verdict: kind, driftPercent };
  if (isBroken(candidate)) return { kind: 'decided', verdict: 'broken', driftPercent };
  if (candidate.values.length >= maxRuns || !candidate.canRun) {
    return { kind: 'decided', verdict: 'unclear', driftPercent };
  }
  return { kind: 'run', side: end ?? 'candidate' };
}

function nextEnd(good: SideRuns, bad: SideRuns): 'good' | 'bad' | null {
  if (bad.canRun && (bad.values.length < good.values.length || !good.canRun)) return 'bad';
  return good.canRun ? 'good' : null;
}

export function measured({ values }: Pick<SideRuns, 'values'>): number[] {
  return values.filter((value) => value !== null);
}

function endRuns(side: SideRuns, before: number): EndRuns {
  return { values: measured(side), inTurn: measured({ values: side.values.slice(before) }).length };
}

function isBroken(side: SideRuns): boolean {
  return side.values.length >= HOPELESS_RUNS && measured(side).length === 0;
}

/** Positive values, one a run. */
interface Ends {
  readonly good: readonly number[];
  readonly bad: readonly number[];
  readonly betterIs: 'lower' | 'higher';
}

interface EndsDecision {
  readonly kind: 'slower' | 'notSlower' | 'more';
  readonly comparison: CellComparison | null;
}

/** From this many runs a side the variance of one cell alone keeps the promise of `spentQ` (3.0 % in 20,000 trials). */
const LEAST_END_RUNS = 4;
const LEAST_PERCENT = 1;

/**
 * Whether the bad end is slower than the good one. Runs are added until a change of that size would be detected in 90
 * %: every candidate is compared with the ends.
 */
export function judgeEnds(ends: Ends): EndsDecision {
  const runs = Math.min(ends.good.length, ends.bad.length);
  const comparison = changeFrom(ends.good, ends.bad, ends.betterIs, alphaSpent(Math.max(1, runs - LEAST_END_RUNS + 1)));
  if (comparison === null || runs < LEAST_END_RUNS) return { kind: 'more', comparison };
  const { verdict, changePercent, mdePercent } = comparison;
  if (verdict === 'faster') return { kind: 'notSlower', comparison };
  if (verdict === 'same' && worstPercent(comparison, ends.betterIs) < LEAST_PERCENT) {
    return { kind: 'notSlower', comparison };
  }
  const isPrecise = (mdePercent ?? Infinity) <= Math.abs(changePercent ?? 0);
  return { kind: verdict === 'slower' && isPrecise ? 'slower' : 'more', comparison };
}

export function changeFrom(
  base: readonly number[],
  head: readonly number[],
  betterIs: 'lower' | 'higher',
  q?: number,
): CellComparison | null {
  return compareCells([{ cellKey: '', base, head, betterIs }], { q }).cells[0] ?? null;
}

/** Upper end of the interval for the worse direction, percent. */
function worstPercent({ ciPercent }: CellComparison, betterIs: 'lower' | 'higher'): number {
  const [low, high] = ciPercent ?? [-Infinity, Infinity];
  return betterIs === 'lower' ? high : -low;
}

export const STEP_VERDICTS = ['good', 'bad', 'unclear', 'broken'] as const;

/** `unclear` after the maximum of runs, `broken` when it could not be measured. */
export type StepVerdict = (typeof STEP_VERDICTS)[number];

export interface Judged {
  readonly candidate: string;
  readonly verdict: StepVerdict;
}

/** `names`: the commits or factors found, or those that remain. */
export interface SearchResult {
  /** `together`: no single factor makes the difference. */
  readonly kind: 'found' | 'range' | 'together';
  readonly names: readonly string[];
}

export type NextStep<Candidate> = { readonly kind: 'test'; readonly candidate: Candidate } | SearchResult;

export function isSkipped({ verdict }: Judged): boolean {
  return verdict === 'unclear' || verdict === 'broken';
}

/** Consecutive unclear candidates after which the noise is too great to go on. */
const HOPELESS_IN_ROW = 6;

export function isHopeless(judged: readonly { readonly verdict: StepVerdict }[]): boolean {
  const last = judged.slice(-HOPELESS_IN_ROW);
  return last.length === HOPELESS_IN_ROW && last.every(({ verdict }) => verdict === 'unclear');
}
