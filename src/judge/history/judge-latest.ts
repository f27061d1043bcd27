import { isBuildLuck } from './build-luck.ts';
import type { ChangePoint } from './change-points.ts';
import { type Departure, departureOf, isBeyondRecent } from './departures.ts';
import { type Look, lookAt, seenChanges } from './looks.ts';
import type { NightlyValues } from './noise.ts';
import { ALERTING, EARLY, HISTORY } from './settings.ts';
import { type Suspicion, suspicionOf } from './suspects.ts';

/** What the gate remembers of a history. */
export interface KnownReports {
  /** First sweeps (as in `nights`) of the changes that were reported in earlier sweeps. */
  readonly reported: readonly number[];
  /** How many of this cell's reports turned out wrong: cleared, or the machine. */
  readonly wrongBefore: number;
}

export interface ReportedChange extends ChangePoint {
  /** It began with a new build of the same sources: named as such, and no alarm. */
  readonly isBuildLuck: boolean;
}

export interface LatestJudgement {
  /**
   * Every change of level that the history shows, reported or not. A reported one that is too young to be seen for sure
   * is among them: it is not taken back before.
   */
  readonly changes: readonly ChangePoint[];
  /** Those to be reported in the newest sweep. */
  readonly news: readonly ReportedChange[];
  /** The newest sweeps lie far off their level, and no report says so: null when they do not. */
  readonly suspected: Suspicion | null;
}

/**
 * What the newest sweep of a history says. How often a place was seen before follows from the sweeps themselves, so that
 * nothing but the reports has to be remembered. A sweep known to be the machine's is to be left out of the history.
 */
export function judgeLatest(history: NightlyValues, known: KnownReports): LatestJudgement {
  const looks = new Map<number, Look>();
  return judgeSweep(history, history.values.length, known, looks);
}

/** A change that was reported in a replay. */
export interface Replayed {
  /** The sweep (as in `nights`) in which it is reported. */
  readonly reportedOn: number;
  readonly change: ReportedChange;
}

/** The whole history as the gate would have lived through it. */
export function replaySweeps(history: NightlyValues): Replayed[] {
  const reports: Replayed[] = [];
  const looks = new Map<number, Look>();
  for (let sweeps = ALERTING.firstNight; sweeps <= history.values.length; sweeps += 1) {
    const known = { reported: reports.map(({ change }) => change.night), wrongBefore: 0 };
    const { news } = judgeSweep(history, sweeps, known, looks);
    const reportedOn = history.nights[sweeps - 1] ?? sweeps - 1;
    reports.push(...news.map((change) => ({ reportedOn, change })));
    looks.delete(sweeps - ALERTING.oldLooks + 1);
  }
  return reports;
}

/**
 * @param sweeps measured ones until the newest
 * @param looks known ones by their sweeps; filled with those that are needed, which are few in a quiet history
 */
function judgeSweep(
  history: NightlyValues,
  sweeps: number,
  known: KnownReports,
  looks: Map<number, Look>,
): LatestJudgement {
  if (sweeps < HISTORY.leastNights) return { changes: [], news: [], suspected: null };
  const lookOf = (count: number): Look => {
    const look = looks.get(count) ?? lookAt(history, count);
    looks.set(count, look);
    return look;
  };
  const newest = lookOf(sweeps);
  const reported = [...known.reported];
  const news: ReportedChange[] = [];
  const report = (change: ChangePoint): void => {
    if (isReported(change, reported)) return;
    reported.push(change.night);
    news.push({ ...change, isBuildLuck: isBuildLuck(history, change.index) });
  };
  if (sweeps >= ALERTING.firstNight) {
    const wasWrong = known.wrongBefore > 0;
    for (const change of dueChanges(newest, reported, wasWrong, lookOf)) report(change);
    if (!wasWrong) for (const change of earlyChanges(history, newest, lookOf)) report(change);
  }
  return {
    changes: [...newest.changes, ...youngReports(history, newest, reported)],
    news,
    suspected: suspicionOf(history, newest, reported, lookOf),
  };
}

function isReported({ night }: Pick<ChangePoint, 'night'>, reported: readonly number[]): boolean {
  return reported.some((place) => Math.abs(place - night) <= ALERTING.sameNights);
}

/**
 * Changes that are seen in several sweeps running: soon where the cell was calm, later where it left its level before or
 * was reported wrongly.
 */
function dueChanges(
  newest: Look,
  reported: readonly number[],
  wasWrong: boolean,
  lookOf: (sweeps: number) => Look,
): ChangePoint[] {
  if (newest.changes.every((change) => isReported(change, reported))) return [];
  const first = Math.max(ALERTING.firstNight, newest.sweeps - ALERTING.oldLooks + 1);
  const looks = Array.from({ length: newest.sweeps - first + 1 }, (_, place) => lookOf(first + place));
  return seenChanges(looks).flatMap(({ change, running }) => {
    const age = newest.sweeps - change.index;
    const isFresh = age <= ALERTING.freshNights && running >= ALERTING.looks;
    if (!isFresh) return running >= ALERTING.oldLooks ? [change] : [];
    return age < EARLY.restlessAge && (wasWrong || isRestlessAt(change, newest, looks)) ? [] : [change];
  });
}

/** The cell left its level before about as far as where the change begins. */
function isRestlessAt(change: ChangePoint, newest: Look, looks: readonly Look[]): boolean {
  return looks.some((before) => {
    if (Math.abs(before.sweeps - change.index) > ALERTING.moveNights) return false;
    const most = Math.min(EARLY.mostSweeps, newest.sweeps - before.sweeps);
    for (let count = 1; count <= most; count += 1) {
      const departure = departureOf(newest, before, count);
      if (departure !== null && departure.excursions >= EARLY.restlessExcursions) return true;
    }
    return false;
  });
}

/** The newest sweeps, where they are far enough off and close enough together that they suffice in a cell that was calm. */
function earlyChanges(history: NightlyValues, newest: Look, lookOf: (sweeps: number) => Look): ChangePoint[] {
  return EARLY.rules.flatMap((rule) => {
    const past = newest.sweeps - rule.sweeps;
    if (newest.sweeps < rule.leastSweeps || !isBeyondRecent(newest, rule.sweeps)) return [];
    const departure = departureOf(newest, lookOf(past), rule.sweeps);
    if (departure === null || departure.excursions > 0 || departure.deviations < EARLY.clearDeviations) return [];
    const range = Math.max(rule.rangeDeviations * departure.sigma, rule.rangeShare * Math.abs(departure.shift));
    return departure.range <= range ? [asChange(departure, history)] : [];
  });
}

function asChange({ index, before, shift, deviations }: Departure, { nights }: NightlyValues): ChangePoint {
  const margin = deviations / EARLY.leastDeviations;
  return { night: nights[index] ?? index, index, before, after: before + shift, shift, margin };
}

/** Reported places of which too few sweeps are there for a level to be seen. */
function youngReports({ nights }: NightlyValues, newest: Look, reported: readonly number[]): ChangePoint[] {
  const level = newest.levels.at(-1);
  if (level === undefined) return [];
  return reported.flatMap((night) => {
    const index = nights.indexOf(night, newest.offset);
    if (index === -1 || newest.sweeps - index >= EARLY.youngSweeps) return [];
    if (newest.changes.some((change) => isReported(change, [night]))) return [];
    const since = newest.logs.slice(index - newest.offset).toSorted();
    const after = since[since.length >> 1] ?? level.median;
    return [{ night, index, before: level.median, after, shift: after - level.median, margin: 1 }];
  });
}
