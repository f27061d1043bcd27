import type { ChangePoint } from './change-points.ts';
import { isReported, judgeSweep, type ReportedChange } from './judge-latest.ts';
import type { Look } from './looks.ts';
import type { NightlyValues } from './noise.ts';
import { RollingLooks } from './rolling-looks.ts';
import { ALERTING, HISTORY } from './settings.ts';
import type { Suspicion } from './suspects.ts';

/** A history as the gate would have lived through it. Sweeps as in `nights`. */
export interface Replay {
  readonly reports: readonly ReplayedReport[];
  /** Sweeps off their level, one record a place. */
  readonly suspicions: readonly ReplayedSuspicion[];
}

export interface ReplayedReport {
  /** The sweep in which it is reported. */
  readonly reportedOn: number;
  readonly change: ReportedChange;
}

export interface ReplayedSuspicion {
  /** The first sweep in which it is suspected, and what was known then. */
  readonly suspectedOn: number;
  readonly first: Suspicion;
  /** Cleared: the level before was back, and nothing was reported there. */
  readonly state: 'suspected' | 'confirmed' | 'cleared';
}

/**
 * All sweeps of a history in turn, each with only the past. A reported change that came back was wrong.
 * @param lookOf asked for each sweep in turn
 */
export function replaySweeps(history: NightlyValues, lookOf: (sweeps: number) => Look = rollingLooks(history)): Replay {
  const reports: ReplayedReport[] = [];
  const suspicions: Omit<ReplayedSuspicion, 'state'>[] = [];
  const looks = new Map<number, Look>();
  let open: number | null = null;
  let wrongBefore = 0;
  for (let sweeps = ALERTING.firstNight; sweeps <= history.values.length; sweeps += 1) {
    const known = { reported: reports.map(({ change }) => change.night), wrongBefore };
    looks.set(sweeps, lookOf(sweeps));
    const { changes, news, suspected } = judgeSweep(history, sweeps, known, looks);
    wrongBefore = Math.max(wrongBefore, reports.filter(({ change }) => isWrong(change, changes)).length);
    const night = history.nights[sweeps - 1] ?? sweeps - 1;
    reports.push(...news.map((change) => ({ reportedOn: night, change })));
    open = suspected?.firstNight ?? null;
    if (
      suspected !== null &&
      !suspicions.some(({ first }) => isReported({ night: first.firstNight }, [suspected.firstNight]))
    ) {
      suspicions.push({ suspectedOn: night, first: suspected });
    }
    looks.delete(sweeps - ALERTING.oldLooks + 1);
  }
  const places = reports.map(({ change }) => change.night);
  return {
    reports,
    suspicions: suspicions.map((suspicion) => {
      const place = { night: suspicion.first.firstNight };
      if (isReported(place, places)) return { ...suspicion, state: 'confirmed' };
      return { ...suspicion, state: open !== null && isReported(place, [open]) ? 'suspected' : 'cleared' };
    }),
  };
}

function rollingLooks(history: NightlyValues): (sweeps: number) => Look {
  const looks = new RollingLooks(history);
  return (sweeps) => looks.at(sweeps);
}

/** Not seen any more, or back at the level before within the time that a state lasts. */
function isWrong({ night, index, shift, before }: ChangePoint, changes: readonly ChangePoint[]): boolean {
  if (!changes.some((change) => isReported(change, [night]))) return true;
  return changes.some(
    (change) =>
      change.index > index &&
      change.index - index <= HISTORY.stateNights &&
      Math.abs(change.after - before) < HISTORY.backShare * Math.abs(shift),
  );
}
