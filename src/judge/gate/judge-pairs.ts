import type { CellKey } from '../../records/scalars.ts';
import { median } from '../../statistics/median.ts';
import { scaleOf } from '../../statistics/order-statistics.ts';
import { ASSUMED_SIGMA } from '../run-noise.ts';
import type { PairResult } from './evidence.ts';

/** Chosen by simulation: a median pair beyond chance, and nearly all pairs on its side. */
const RULE = {
  /** Standard errors of a median difference, */
  deviations: 3.5,
  /** whose variance exceeds that of a mean by this factor, */
  medianVariance: 1.57,
  /** and a change of at least this, in percent. */
  leastPercent: 0.5,
  /** A pair agrees beyond this share of the median pair. */
  agreeShare: 0.35,
} as const;

/** How many pairs are measured, and how many of them must agree. */
const PAIRS = { steady: { count: 5, agreeing: 4 }, unsteady: { count: 8, agreeing: 7 } } as const;

/** Of a suspect. */
export function pairsNeeded({ isUnsteady }: { readonly isUnsteady: boolean }) {
  return isUnsteady ? PAIRS.unsteady : PAIRS.steady;
}

export type JudgedPairs = Omit<PairResult, 'metric'>;

/** Values of one pair in the unit of the metric, above 0. */
export interface PairValues {
  readonly newest: number;
  readonly lastGood: number;
}

export interface MeasuredPairs {
  readonly cellKey: CellKey;
  readonly pairs: readonly PairValues[];
  /** Standard deviation of a single run, log scale. */
  readonly sigma: number;
  /** The level that was expected, and the value of the sweep. */
  readonly before: number;
  readonly now: number;
  /** Known states, or builds of the same sources that differed. */
  readonly isUnsteady: boolean;
  /** Both engines are builds of the same sources. */
  readonly isSameSources: boolean;
  /** The smallest change that matters to the user, in percent; 0 where nothing is stated. */
  readonly minChangePercent: number;
}

/**
 * What alternating runs of the newest and the last good engine say of a suspect. The newest one differs when the
 * median pair is beyond max(3.5 sigma sqrt(2 x 1.57 / n), the smallest change worth reporting) on the suspect's side,
 * and all pairs but one are beyond .35 of it. If not, the last good engine reports the machine from chance: it is the
 * machine where that engine, too, is nearer to the suspect's value than to the level. Fewer pairs than were to be
 * measured compare nothing.
 */
export function judgePairs(measured: MeasuredPairs): JudgedPairs {
  const { before, cellKey, isSameSources, minChangePercent, now, sigma } = measured;
  const needed = pairsNeeded(measured);
  const side = now < before ? -1 : 1;
  const differences = measured.pairs.map(({ newest, lastGood }) => Math.log(newest / lastGood));
  const middle = median(differences) ?? 0;
  const agreeing = differences.filter((difference) => side * difference > RULE.agreeShare * side * middle).length;
  const counts = { cellKey, count: differences.length, changePercent: 100 * Math.expm1(middle) };
  if (differences.length < needed.count) return { ...counts, agreeing, outcome: 'notComparable' };
  const error = sigma * Math.sqrt((2 * RULE.medianVariance) / differences.length);
  const least = Math.log1p(Math.max(RULE.leastPercent, minChangePercent) / 100);
  if (side * middle > Math.max(RULE.deviations * error, least) && agreeing >= needed.agreeing) {
    return { ...counts, agreeing, outcome: isSameSources ? 'buildLuck' : 'confirmed' };
  }
  const lastGood = measured.pairs.map((pair) => pair.lastGood);
  return { ...counts, agreeing: side * middle > 0 ? agreeing : 0, outcome: machineOrCleared(lastGood, measured) };
}

/** More runs of the engine itself, where the last good sweep had the same: nothing is paired against itself. */
export function judgeSameEngine(
  runs: readonly number[],
  suspect: Pick<MeasuredPairs, 'before' | 'cellKey' | 'now'>,
): JudgedPairs {
  const changePercent = 100 * ((median(runs) ?? suspect.before) / suspect.before - 1);
  const outcome = runs.length === 0 ? 'notComparable' : machineOrCleared(runs, suspect);
  return { cellKey: suspect.cellKey, outcome, count: 0, agreeing: 0, changePercent };
}

function machineOrCleared(
  values: readonly number[],
  { before, now }: Pick<MeasuredPairs, 'before' | 'now'>,
): 'machine' | 'cleared' {
  const offset = Math.log((median(values) ?? before) / before);
  return Math.abs(offset - Math.log(now / before)) < Math.abs(offset) ? 'machine' : 'cleared';
}

/** A deviation from fewer differences than these is no estimate. */
const LEAST_DIFFERENCES = 10;
/** Equal values still differ by the resolution of the timer. */
const LEAST_SIGMA = 1e-4;

/**
 * Standard deviation of a single run of each cell, log scale: from the differences of runs within a sweep, of which a
 * quarter may be disturbed; in a cell with two states the larger quantile is their distance. Cells with one run a sweep
 * are judged by the differences of neighboring sweeps, cells with neither by the typical cell, and where all are young by
 * the runs of all of them together; where these, too, are few, with the runs of the pairs.
 * @param cells values of the runs that count, above 0, by sweep in order
 * @param pairs such values of either engine
 */
export function runSigmas<Key>(
  cells: ReadonlyMap<Key, readonly (readonly number[])[]>,
  pairs: readonly (readonly number[])[] = [],
): (key: Key) => number {
  const own = new Map([...cells].map(([key, sweeps]) => [key, ownSigma(sweeps)]));
  const known = median([...own.values()].flatMap((sigma) => sigma ?? []));
  const ofSweeps = [...cells.values()].flatMap((sweeps) => withinSweeps(sweeps));
  const all = ofSweeps.length >= LEAST_DIFFERENCES ? ofSweeps : [...ofSweeps, ...withinSweeps(pairs)];
  const typical = known ?? (all.length >= LEAST_DIFFERENCES ? scaleOfAll(all) : ASSUMED_SIGMA);
  return (key) => Math.max(LEAST_SIGMA, own.get(key) ?? typical);
}

function ownSigma(sweeps: readonly (readonly number[])[]): number | null {
  const within = withinSweeps(sweeps);
  if (within.length >= LEAST_DIFFERENCES) return scaleOfAll(within);
  const centres = sweeps.flatMap((values) => median(values.map(Math.log)) ?? []);
  const between = centres.slice(1).map((value, place) => Math.abs(value - (centres[place] ?? value)));
  return between.length >= LEAST_DIFFERENCES ? scaleOfAll(between) : null;
}

/** Of each two runs of one sweep. */
function withinSweeps(sweeps: readonly (readonly number[])[]): number[] {
  return sweeps.flatMap((values) =>
    values.flatMap((value, place) => values.slice(place + 1).map((other) => Math.abs(Math.log(value / other)))),
  );
}

function scaleOfAll(differences: readonly number[]): number {
  const scratch = Float64Array.from(differences);
  return Math.max(scaleOf(scratch, 0.5), scaleOf(scratch, 0.75));
}
