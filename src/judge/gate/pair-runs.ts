import { isJudgedOnly } from '../../records/gated-metric.ts';
import type { PlannedPairs } from '../../records/gate-settings.ts';
import type { CellRun } from '../../records/run.ts';
import { leftOutFor } from '../run-trust.ts';
import { pairsNeeded, type PairValues } from './judge-pairs.ts';

export type PairSide = 'newest' | 'lastGood';

type PairRun = Pick<CellRun, 'flags' | 'outcome' | 'repeat'>;

/** Where the last good sweep had the same engine, it is measured as often as this. */
const SAME_ENGINE_RUNS = 3;
/** A pair with a disturbed or failed run counts for nothing: at most this number of others take their place. */
const SPARE_PAIRS = 3;
/** Numbers of the profiles of both engines. */
const PROFILE_PAIR = 500;

/** The newest engine has the odd numbers, the last good one the even ones. */
function repeatOf(pair: number, side: PairSide): number {
  return 2 * pair + (side === 'newest' ? 1 : 2);
}

export function sideOf(repeat: number): PairSide {
  return repeat % 2 === 1 ? 'newest' : 'lastGood';
}

/** Counts from 0. */
export function pairOf(repeat: number): number {
  return (repeat - 1) >> 1;
}

export function profileRepeat(side: PairSide): number {
  return repeatOf(PROFILE_PAIR, side);
}

/** `pair 2, last good engine` */
export function pairRunName(repeat: number): string {
  const engine = sideOf(repeat) === 'newest' ? 'newest engine' : 'last good engine';
  return pairOf(repeat) === PROFILE_PAIR ? `profile, ${engine}` : `pair ${pairOf(repeat) + 1}, ${engine}`;
}

export function isSameEngine({ lastGoodBuildId, newestBuildId }: PlannedPairs): boolean {
  return newestBuildId !== null && newestBuildId === lastGoodBuildId;
}

/** Runs that are wanted in the best case. */
export function wantedRuns(planned: PlannedPairs): number {
  if (planned.problem !== null) return 0;
  return isSameEngine(planned) ? SAME_ENGINE_RUNS : 2 * pairsNeeded(planned).count;
}

/** Those that count for the metric of the suspect. */
export function fitPairRuns<Run extends PairRun>({ metric }: PlannedPairs, runs: readonly Run[]): Run[] {
  return runs.filter(
    ({ flags, outcome, repeat }) =>
      pairOf(repeat) < PROFILE_PAIR &&
      outcome.kind === 'measured' &&
      (isJudgedOnly(metric) || leftOutFor(flags, metric) === null),
  );
}

/** Complete pairs in the order in which they were measured. */
export function pairsAmong<Run extends PairRun>(
  runs: readonly Run[],
  valueOf: (run: Run) => number | null,
): PairValues[] {
  const byPair = Map.groupBy(runs, ({ repeat }) => pairOf(repeat));
  return [...byPair]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, own]): PairValues[] => {
      const valueAt = (side: PairSide): number | null => {
        const run = own.find(({ repeat }) => sideOf(repeat) === side);
        return run === undefined ? null : valueOf(run);
      };
      const [newest, lastGood] = [valueAt('newest'), valueAt('lastGood')];
      return newest === null || lastGood === null ? [] : [{ newest, lastGood }];
    });
}

/** Engines that one side cannot load: nothing can be compared. */
export function doesNotLoad(runs: readonly PairRun[]): boolean {
  return runs.some(({ outcome }) => outcome.kind === 'failed' && outcome.reason === 'engineInvalid');
}

/**
 * Number of the next run of a suspect, given those that are stored: after a kill nothing is measured twice. The first of
 * each pair alternates. Null when enough is known, or nothing can be.
 */
export function nextPairRun(planned: PlannedPairs, runs: readonly PairRun[]): number | null {
  if (planned.problem !== null || doesNotLoad(runs)) return null;
  const made = new Set(runs.map(({ repeat }) => repeat));
  const isMissing = (repeat: number): boolean => !made.has(repeat);
  if (isSameEngine(planned)) {
    const all = Array.from({ length: SAME_ENGINE_RUNS }, (_, pair) => repeatOf(pair, 'newest'));
    return all.find(isMissing) ?? null;
  }
  const complete = pairsAmong(fitPairRuns(planned, runs), () => 1).length;
  const { count } = pairsNeeded(planned);
  const most = count + SPARE_PAIRS;
  const all = Array.from({ length: most }, (_, pair) => {
    const both = [repeatOf(pair, 'newest'), repeatOf(pair, 'lastGood')];
    return pair % 2 === 0 ? both : both.toReversed();
  });
  return complete >= count ? null : (all.flat().find(isMissing) ?? null);
}
