import type { Acknowledgement, Finding, FindingState } from '../../records/finding.ts';
import type { ChangePoint } from '../history/change-points.ts';
import { HISTORY, TELLING } from '../history/settings.ts';

/** A change told earlier, in the logarithms and nights of today's history. */
export interface EarlierChange {
  readonly night: number;
  readonly before: number;
  readonly shift: number;
}

/** What later nights say of a change that was told earlier. @param level of the newest nights */
export function followFinding(told: EarlierChange, changes: readonly ChangePoint[], level: number): FindingState {
  const isBack = Math.abs(level - told.before) < HISTORY.backShare * Math.abs(told.shift);
  const isSeen = changes.some(
    (change) =>
      Math.abs(change.night - told.night) <= TELLING.sameNights && Math.sign(change.shift) === Math.sign(told.shift),
  );
  if (!isSeen) return 'withdrawn';
  return isBack ? 'recovered' : 'open';
}

/** Worse by this share of the accepted change, and by so much in all, is not what was accepted. */
const WORSE_SHARE = 0.25;
const WORSE_LEAST = 0.01;

/** True when tonight's level lies well beyond the one that somebody accepted. @param level in the unit of the metric */
export function isWorseThanAccepted(
  { before, after }: Pick<Finding, 'before' | 'after'>,
  acknowledgement: Pick<Acknowledgement, 'level'>,
  level: number,
): boolean {
  const accepted = Math.log(after / before);
  const since = Math.log(level / acknowledgement.level) * Math.sign(accepted);
  return since > Math.max(WORSE_LEAST, WORSE_SHARE * Math.abs(accepted));
}
