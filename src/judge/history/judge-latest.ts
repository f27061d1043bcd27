import { isBuildLuck } from './build-luck.ts';
import type { ChangePoint } from './change-points.ts';
import { type Departure, departureOf, isBeyond, similarVisits, visitsBeyond } from './departures.ts';
import { type Look, lookAt, seenChanges } from './looks.ts';
import type { NightlyValues } from './noise.ts';
import { shareChange } from './share-change.ts';
import { ALERTING, EARLY, HISTORY, LATE, RESTLESS, SHARE } from './settings.ts';
import { deviationsIn, type Suspicion, suspicionOf } from './suspects.ts';

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
  /** How far the newest sweep lies off its level, in standard deviations; null within 3, and in too few sweeps. */
  readonly deviations: number | null;
}

/**
 * What the newest sweep of a history says. How often a place was seen before follows from the sweeps themselves, so that
 * nothing but the reports has to be remembered. A sweep known to be the machine's is to be left out of the history.
 */
export function judgeLatest(history: NightlyValues, known: KnownReports): LatestJudgement {
  const { values } = history;
  // Such a history has no level but one; most sizes are so.
  if (values.every((value) => value === values[0])) return NOTHING;
  const looks = new Map<number, Look>();
  return judgeSweep(history, history.values.length, known, looks);
}

const NOTHING: LatestJudgement = { changes: [], news: [], suspected: null, deviations: null };

/**
 * The same of one of its sweeps, with only the past.
 * @param sweeps measured ones until then
 * @param looks known ones by their sweeps; filled with those that are needed, which are few in a quiet history
 */
export function judgeSweep(
  history: NightlyValues,
  sweeps: number,
  known: KnownReports,
  looks: Map<number, Look>,
): LatestJudgement {
  if (sweeps < HISTORY.leastNights) return NOTHING;
  const lookOf = (count: number): Look => {
    const look = looks.get(count) ?? lookAt(history, count);
    looks.set(count, look);
    return look;
  };
  const newest = lookOf(sweeps);
  const share = shareChange(newest, history.nights);
  const reported = [...known.reported];
  const news: ReportedChange[] = [];
  const report = (change: ChangePoint): void => {
    if (isReported(change, reported)) return;
    reported.push(change.night);
    news.push({ ...change, isBuildLuck: isBuildLuck(history, change.index) });
  };
  if (sweeps >= ALERTING.firstNight) {
    for (const change of dueChanges(newest, reported, known.wrongBefore, lookOf)) {
      if (!isShareChange(change, share)) report(change);
    }
    if (known.wrongBefore === 0) for (const change of earlyChanges(history, newest, lookOf)) report(change);
    if (share !== null) report(share);
  }
  return {
    changes: [...newest.changes, ...(share === null ? [] : [share]), ...youngReports(history, newest, reported)],
    news,
    suspected: suspicionOf(history, newest, reported, lookOf),
    // Nobody asks in a replay.
    get deviations() {
      return sweeps > HISTORY.leastNights ? deviationsIn(newest) : null;
    },
  };
}

/** A level that is cut where a share changed begins some sweeps earlier or later. */
function isShareChange(change: ChangePoint, share: ChangePoint | null): boolean {
  return share !== null && Math.abs(change.index - share.index) <= SHARE.nearSweeps && change.shift * share.shift > 0;
}

export function isReported({ night }: Pick<ChangePoint, 'night'>, reported: readonly number[]): boolean {
  return reported.some((place) => Math.abs(place - night) <= ALERTING.sameNights);
}

/** Changes that are seen in several sweeps running: soon where the cell was calm, later where it left its level before. */
function dueChanges(
  newest: Look,
  reported: readonly number[],
  wrongBefore: number,
  lookOf: (sweeps: number) => Look,
): ChangePoint[] {
  if (newest.changes.every((change) => isReported(change, reported))) return [];
  const first = Math.max(ALERTING.firstNight, newest.sweeps - ALERTING.oldLooks + 1);
  const looks = Array.from({ length: newest.sweeps - first + 1 }, (_, place) => lookOf(first + place));
  return seenChanges(looks).flatMap(({ change, running }) => {
    const age = newest.sweeps - change.index;
    const isFresh = age <= ALERTING.freshNights && running >= ALERTING.looks;
    const due = leastAge(change, newest, wrongBefore);
    // In a calm cell, seen in every sweep since its third: it would have been reported as fresh, had anyone looked.
    const lateLooks = due === 0 ? Math.min(ALERTING.oldLooks, age - ALERTING.looks) : ALERTING.oldLooks;
    const isLate = age > ALERTING.freshNights && running >= lateLooks && isClearLate(change, newest);
    return (isFresh || isLate) && age >= due ? [change] : [];
  });
}

/** Late reports are of weak changes. In a young history a slow wave looks like one, and its beginning is no news. */
function isClearLate({ index, margin }: ChangePoint, { sweeps }: Look): boolean {
  if (index < ALERTING.firstNight - ALERTING.freshNights) return false;
  return margin >= 1 + (LATE.youngSweeps / sweeps) ** LATE.power;
}

/** A cell that went there before, or was reported wrongly, has to stay longer than it did. */
function leastAge({ index, before, shift }: ChangePoint, newest: Look, wrongBefore: number): number {
  const beyond = visitsBeyond(newest, index, before, shift, newest.sigma);
  const similar = similarVisits(newest, index, before, shift, newest.sigma);
  return Math.max(
    beyond.count >= RESTLESS.visits ? RESTLESS.age : 0,
    similar.count > 0 ? RESTLESS.visitedAge : 0,
    similar.longest * RESTLESS.stayFactor,
    wrongBefore > 0 ? RESTLESS.wrongAge : 0,
  );
}

/** The newest sweeps, where they are far enough off and close enough together that they suffice in a cell that was calm. */
function earlyChanges(history: NightlyValues, newest: Look, lookOf: (sweeps: number) => Look): ChangePoint[] {
  return EARLY.rules.flatMap((rule) => {
    const past = newest.sweeps - rule.sweeps;
    if (newest.sweeps < rule.leastSweeps || !isBeyond(newest, rule.sweeps, EARLY.levelSweeps)) return [];
    const departure = departureOf(newest, lookOf(past), rule.sweeps);
    if (departure === null || departure.visits > 0 || isReturn(newest, departure)) return [];
    const range = Math.max(rule.rangeDeviations * departure.sigma, rule.rangeShare * Math.abs(departure.shift));
    const isClear = departure.deviations >= EARLY.clearDeviations && departure.range <= range;
    return isClear ? [asChange(departure, history)] : [];
  });
}

/** The sweeps are back at an earlier level: a state, or what was mended. */
function isReturn({ levels }: Look, { index, before, shift }: Departure): boolean {
  return levels.some(
    ({ to, median }) => to < index && Math.abs(median - before - shift) < HISTORY.backShare * Math.abs(shift),
  );
}

function asChange({ index, before, shift, deviations }: Departure, { nights }: NightlyValues): ChangePoint {
  const margin = deviations / EARLY.leastDeviations;
  return { night: nights[index] ?? index, index, before, after: before + shift, shift, margin };
}

/** Reported places of which too few sweeps are there for a level to be seen. */
function youngReports({ nights }: NightlyValues, newest: Look, reported: readonly number[]): ChangePoint[] {
  const level = newest.levels.at(-1);
  if (level === undefined) return [];
  const from = Math.max(newest.offset, newest.sweeps - EARLY.youngSweeps + 1);
  const young = nights.slice(from, newest.sweeps);
  return reported.flatMap((night) => {
    const index = from + young.indexOf(night);
    if (index < from) return [];
    if (newest.changes.some((change) => isReported(change, [night]))) return [];
    const since = newest.logs.slice(index - newest.offset).toSorted();
    const after = since[since.length >> 1] ?? level.median;
    return [{ night, index, before: level.median, after, shift: after - level.median, margin: 1 }];
  });
}
