import { UsageError } from '../domain/errors.ts';
import type { MoreRunsWanted } from '../domain/more-runs.ts';
import type { Sweep } from '../domain/sweep.ts';
import { seriesOf } from '../store/find-sweeps.ts';
import type { StoreDatabase } from '../store/open.ts';
import type { Io } from './io.ts';
import { resolveSide } from './sides.ts';

export interface MoreRunsOptions {
  /** Percent. */
  readonly untilSure?: number;
  /** Seconds. */
  readonly budget?: number;
  readonly confirm?: boolean;
  readonly maxRepeats: number;
  readonly against?: string;
}

/** Confirming runs end after so long when no budget says otherwise. */
const CONFIRM_BUDGET_S = 600;

/** What was asked for beyond the plan; null for nothing. */
export async function wantedMoreRuns(
  db: StoreDatabase,
  sweep: Sweep,
  options: MoreRunsOptions,
  io: Io,
): Promise<MoreRunsWanted | null> {
  const { untilSure, budget, confirm = false, maxRepeats, against } = options;
  if (untilSure === undefined && budget === undefined && !confirm) {
    if (against !== undefined)
      throw new UsageError('--against says what to be sure against: add --until-sure');
    return null;
  }
  const base =
    against === undefined ? seriesOf(db, sweep, 1) : (await resolveSide(db, against, io)).sweeps;
  return {
    untilSurePercent: untilSure ?? null,
    budgetS: budget ?? (confirm && untilSure === undefined ? CONFIRM_BUDGET_S : null),
    confirm,
    maxRepeats,
    baseSweepIds: base.map(({ sweepId }) => sweepId),
  };
}
