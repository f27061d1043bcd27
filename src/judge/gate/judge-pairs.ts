import { type PlannedPairs, isJudgedOnly } from '../../records/gated-metric.ts';
import type { CellRun } from '../../records/run.ts';
import { median, scaleOf } from '../../statistics/order-statistics.ts';
import { ASSUMED_SIGMA } from '../run-noise.ts';
import { leftOutFor } from '../run-trust.ts';
import type { PairResult } from './evidence.ts';

/** Chosen by simulation: the median pair is significant, and nearly all pairs agree with it. */
const RULE = {
  deviations: 3.5,
  /** Ratio of the variance of a median to that of a mean. */
  medianVariance: 1.57,
  leastPercent: 0.5,
  /** A pair agrees if it exceeds this share of the median pair. */
  agreeShare: 0.35,
} as const;

export function pairsNeeded({ isUnsteady }: Pick<PlannedPairs, 'isUnsteady'>) {
  return isUnsteady ? { count: 8, agreeing: 7 } : { count: 5, agreeing: 4 };
}

type JudgedPairs = Omit<PairResult, 'cellKey' | 'metric'>;

type PairValues = Readonly<Record<PairSide, number>>;

export interface MeasuredPairs extends Pick<PlannedPairs, 'isUnsteady'> {
  readonly pairs: readonly PairValues[];
  readonly sigma: number;
  readonly before: number;
  readonly now: number;
  readonly isSameSources: boolean;
  readonly minChangePercent: number;
}

/** Confirmed: the median pair exceeds max(3.5 sigma sqrt(2 x 1.57 / n), the smallest change), and the others agree. */
export function judgePairs(measured: MeasuredPairs): JudgedPairs {
  const { before, isSameSources, minChangePercent, now, sigma } = measured;
  const needed = pairsNeeded(measured);
  const side = now < before ? -1 : 1;
  const differences = measured.pairs.map(({ newest, lastGood }) => Math.log(newest / lastGood));
  const middle = median(differences) ?? 0;
  const agreeing = differences.filter((difference) => side * difference > RULE.agreeShare * side * middle).length;
  const counts = { count: differences.length, changePercent: 100 * Math.expm1(middle) };
  if (differences.length < needed.count) return { ...counts, agreeing, outcome: 'notComparable' };
  const error = sigma * Math.sqrt((2 * RULE.medianVariance) / differences.length);
  const least = Math.log1p(Math.max(RULE.leastPercent, minChangePercent) / 100);
  if (side * middle > Math.max(RULE.deviations * error, least) && agreeing >= needed.agreeing) {
    return { ...counts, agreeing, outcome: isSameSources ? 'buildLuck' : 'confirmed' };
  }
  const lastGood = measured.pairs.map((pair) => pair.lastGood);
  return { ...counts, agreeing: side * middle > 0 ? agreeing : 0, outcome: machineOrCleared(lastGood, measured) };
}

/** Judges more runs of the same engine: if the last good sweep had it too, there are no pairs. */
export function judgeSameEngine(runs: readonly number[], suspect: Pick<MeasuredPairs, 'before' | 'now'>): JudgedPairs {
  const changePercent = 100 * ((median(runs) ?? suspect.before) / suspect.before - 1);
  const outcome = runs.length === 0 ? 'notComparable' : machineOrCleared(runs, suspect);
  return { outcome, count: 0, agreeing: 0, changePercent };
}

/** The machine is the cause if these values are also closer to the value of the suspect than to the level. */
function machineOrCleared(values: readonly number[], { before, now }: Pick<MeasuredPairs, 'before' | 'now'>) {
  const offset = Math.log((median(values) ?? before) / before);
  return Math.abs(offset - Math.log(now / before)) < Math.abs(offset) ? 'machine' : 'cleared';
}

const LEAST_DIFFERENCES = 10;
const LEAST_SIGMA = 1e-4;

/** Standard deviation of a run (log scale) from differences within sweeps, of which a quarter may be disturbed. */
export function runSigma(own: readonly (readonly number[])[], others: readonly (readonly number[])[]): number {
  for (const sweeps of [own, others]) {
    const pairs = sweeps.flatMap((values) => values.flatMap((a, place) => values.slice(place + 1).map((b) => a / b)));
    const apart = Float64Array.from(pairs, (ratio) => Math.abs(Math.log(ratio)));
    if (apart.length >= LEAST_DIFFERENCES) return Math.max(LEAST_SIGMA, scaleOf(apart, 0.5), scaleOf(apart, 0.75));
  }
  return ASSUMED_SIGMA;
}

export type PairSide = 'newest' | 'lastGood';
type PairRun = Pick<CellRun, 'flags' | 'outcome' | 'repeat'>;

/** Number of runs of an engine that the last good sweep also had. */
const SAME_ENGINE_RUNS = 3;
/** Largest number of extra pairs. They replace pairs with a disturbed or failed run, which do not count. */
const SPARE_PAIRS = 3;
export const PROFILE_PAIR = 500;

/** The newest engine has odd repeats, and the last good one has even repeats. */
export function repeatOf(pair: number, side: PairSide): number {
  return 2 * pair + (side === 'newest' ? 1 : 2);
}

export function sideOf(repeat: number): PairSide {
  return repeat % 2 === 1 ? 'newest' : 'lastGood';
}

export function pairOf(repeat: number): number {
  return (repeat - 1) >> 1;
}

/** Returns `pair 2, last good engine`. */
export function pairRunName(repeat: number): string {
  const engine = sideOf(repeat) === 'newest' ? 'newest engine' : 'last good engine';
  return pairOf(repeat) === PROFILE_PAIR ? `profile, ${engine}` : `pair ${pairOf(repeat) + 1}, ${engine}`;
}

export function isSameEngine({ lastGoodBuildId, newestBuildId }: PlannedPairs): boolean {
  return newestBuildId !== null && newestBuildId === lastGoodBuildId;
}

export function runsNeeded(planned: PlannedPairs): number {
  return isSameEngine(planned) ? SAME_ENGINE_RUNS : 2 * pairsNeeded(planned).count;
}

export function fitPairRuns<Run extends PairRun>({ metric }: PlannedPairs, runs: readonly Run[]): Run[] {
  const isCounted = ({ flags }: Run): boolean => isJudgedOnly(metric) || leftOutFor(flags, metric) === null;
  const measured = runs.filter(({ outcome, repeat }) => pairOf(repeat) < PROFILE_PAIR && outcome.kind === 'measured');
  return measured.filter(isCounted);
}

export function pairsAmong<Run extends PairRun>(runs: readonly Run[], valueOf: (run: Run) => number | null) {
  const values = new Map(runs.map((run) => [run.repeat, valueOf(run)]));
  return [...values].flatMap(([repeat, newest]): PairValues[] => {
    const lastGood = sideOf(repeat) === 'newest' ? (values.get(repeat + 1) ?? null) : null;
    return newest === null || lastGood === null ? [] : [{ newest, lastGood }];
  });
}

export function doesNotLoad(runs: readonly PairRun[]): boolean {
  return runs.some(({ outcome }) => outcome.kind === 'failed' && outcome.reason === 'engineInvalid');
}

/** The repeat of the next run of a suspect, computed from the stored runs, so that nothing is repeated after a kill. */
export function nextPairRun(planned: PlannedPairs, runs: readonly PairRun[]): number | null {
  if (planned.problem !== null || doesNotLoad(runs)) return null;
  const { count } = pairsNeeded(planned);
  const isSame = isSameEngine(planned);
  if (!isSame && pairsAmong(fitPairRuns(planned, runs), () => 1).length >= count) return null;
  const all = Array.from({ length: isSame ? SAME_ENGINE_RUNS : count + SPARE_PAIRS }, (_, pair) => {
    const both = [repeatOf(pair, 'newest'), repeatOf(pair, 'lastGood')];
    return isSame ? both.slice(0, 1) : pair % 2 === 0 ? both : both.toReversed();
  });
  const made = new Set(runs.map(({ repeat }) => repeat));
  return all.flat().find((repeat) => !made.has(repeat)) ?? null;
}
