import type { KeyedCell } from '../../records/cell.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { Finding, FindingState } from '../../records/finding.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { median } from '../../statistics/median.ts';
import { type ChangePoint, directionOf } from '../history/change-points.ts';
import { judgeLatest } from '../history/judge-latest.ts';
import type { NightlyValues } from '../history/noise.ts';
import { ALERTING, HISTORY } from '../history/settings.ts';
import type { NightRun } from '../value-rule.ts';
import { clockOf, fitRuns, type LeftOutRun } from './fit-runs.ts';

/** The history of a cell in a series. */
export interface CellNights {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly history: NightlyValues;
  /** Runs of each measured sweep, in the order of `history.nights`. */
  readonly runs: readonly (readonly NightRun[])[];
  /** Measured runs that do not count, with reasons. */
  readonly leftOut: readonly LeftOutRun[];
}

/** @param sweeps oldest first, indexed by `nights` */
export function cellNights(
  cell: KeyedCell,
  metric: MetricId,
  sweeps: readonly Sweep[],
  runs: readonly NightRun[],
): CellNights {
  const { byNight, leftOut } = fitRuns(sweeps, runs, metric);
  const measured = byNight.flatMap((kept, night) => {
    const value = median(kept.map((run) => run.value));
    return value === null ? [] : [{ night, value, kept }];
  });
  return {
    cell,
    metric,
    history: {
      nights: measured.map(({ night }) => night),
      values: Float64Array.from(measured, ({ value }) => value),
      clock: measured.map(({ kept }) => clockOf(kept)),
    },
    runs: measured.map(({ kept }) => kept),
    leftOut,
  };
}

export type JudgedCell = ReturnType<typeof judgeCell>;

/** Somebody said that a finding may stay, for a time that may be over by now. */
export interface Accepted {
  /** The level when it was accepted, in the unit of the metric. */
  readonly level: number;
  readonly isOver: boolean;
}

/**
 * Judges one cell on the latest night.
 * @param sweeps the window, the oldest first
 * @param earlier findings of this cell that were reported on earlier nights and are still known
 * @param accepted those of them that somebody accepted, by their ids: one is reported again when its time is over, or when
 * the level is much worse than what was accepted
 */
export function judgeCell(
  nights: CellNights,
  sweeps: readonly Sweep[],
  earlier: readonly Finding[],
  accepted: ReadonlyMap<string, Accepted>,
) {
  const places = new Map(sweeps.map(({ sweepId }, night) => [sweepId, night]));
  const placeOf = (finding: Finding): number => places.get(finding.firstBadSweepId) ?? -1;
  const wrongBefore = earlier.filter(({ state }) => state === 'withdrawn').length;
  const first = judgeLatest(nights.history, { reported: earlier.map(placeOf), wrongBefore });
  const { changes } = first;
  const level = currentLevel(nights, changes);
  const isKnown = (finding: Finding): boolean => {
    const term = accepted.get(finding.findingId);
    return term === undefined || !(term.isOver || isWorseThanAccepted(finding, term, level));
  };
  const known = earlier.filter(isKnown);
  const { news, suspected } =
    known.length === earlier.length
      ? first
      : judgeLatest(nights.history, { reported: known.map(placeOf), wrongBefore });
  const isMeasured = nights.history.nights.at(-1) === sweeps.length - 1;
  return {
    nights,
    /** Far off its level, and not reported: null when it is not, or when the latest night has no value. */
    off: isMeasured && news.length === 0 ? suspected : null,
    reported: news.map((change) => asFinding(change, nights, sweeps)),
    /** With what the latest night says of them. */
    earlier: known.map((finding): Finding => {
      const night = placeOf(finding);
      const state = night < 0 ? finding.state : stateOf(finding, night, changes, level);
      return { ...finding, state: state === 'open' && accepted.has(finding.findingId) ? 'accepted' : state };
    }),
    /** Ids of the findings that are accepted no longer. */
    ended: earlier.filter((finding) => !isKnown(finding)).map(({ findingId }) => findingId),
  };
}

/** In the unit of the metric. */
function currentLevel({ history }: CellNights, changes: readonly ChangePoint[]): number {
  const newest = changes.at(-1);
  return newest === undefined ? (median([...history.values]) ?? Number.NaN) : Math.exp(newest.after);
}

function asFinding(change: ChangePoint, { cell, metric, history }: CellNights, sweeps: readonly Sweep[]): Finding {
  const latest = sweeps.at(-1);
  const firstBad = sweeps[change.night];
  const lastGood = sweeps[history.nights[change.index - 1] ?? -1];
  if (latest === undefined || firstBad === undefined) throw new Error('a change outside the window');
  const { branch, matrix, provenance } = latest;
  const direction = directionOf(change.shift, metricOf(metric).betterIs);
  const about = { cellKey: cell.key, metric, provenance, branch, matrix, direction };
  return {
    ...about,
    findingId: hashOf({ finding: { ...about, firstBadSweepId: firstBad.sweepId } }),
    changePercent: percentOfLog(change.shift),
    margin: change.margin,
    before: Math.exp(change.before),
    after: Math.exp(change.after),
    lastGoodSweepId: lastGood?.sweepId ?? null,
    firstBadSweepId: firstBad.sweepId,
    toldSweepId: latest.sweepId,
    state: 'new',
  };
}

/** What later nights say of a finding. @param level of the newest nights, in the unit of the metric */
function stateOf(
  { before, after }: Finding,
  night: number,
  changes: readonly ChangePoint[],
  level: number,
): FindingState {
  const from = Math.log(before);
  const shift = Math.log(after) - from;
  const isSeen = changes.some(
    (change) => Math.abs(change.night - night) <= ALERTING.sameNights && Math.sign(change.shift) === Math.sign(shift),
  );
  if (!isSeen) return 'withdrawn';
  return Math.abs(Math.log(level) - from) < HISTORY.backShare * Math.abs(shift) ? 'recovered' : 'open';
}

/** A level worse by this share of the acknowledged change, and by this much in all, is a new regression. */
const WORSE_SHARE = 0.25;
const WORSE_LEAST = 0.01;

/** True when the newest sweep's level lies well beyond the one that somebody accepted. @param level in the unit of the metric */
function isWorseThanAccepted(
  { before, after }: Pick<Finding, 'before' | 'after'>,
  acknowledgement: Pick<Accepted, 'level'>,
  level: number,
): boolean {
  const accepted = Math.log(after / before);
  const since = Math.log(level / acknowledgement.level) * Math.sign(accepted);
  return since > Math.max(WORSE_LEAST, WORSE_SHARE * Math.abs(accepted));
}
