import * as z from 'zod';

import { type Immutable, numberOrNull } from '../records/scalars.ts';

/** Runs beyond those of the plan: kept with the plan, so that `--resume` goes on with them. */
export const moreRunsSchema = z.object({
  /** Until a change of this many percent would be seen in each cell, or is; null: not requested. */
  untilSurePercent: numberOrNull,
  /** Longest time for the whole sweep, in seconds; null: none. */
  budgetS: numberOrNull,
  /** Run the cells again whose sweep lies off their history. */
  confirm: z.boolean(),
  /** Runs of a cell, at most. */
  maxRepeats: z.number(),
  /** Sweeps to compare with, the newest first. */
  baseSweepIds: z.array(z.string()),
  /** Whether their runs count together, or of each cell those of the newest one that has it. */
  baseIs: z.enum(['together', 'newestOfCell']).default('together'),
});

export type MoreRunsWanted = Immutable<z.infer<typeof moreRunsSchema>>;
