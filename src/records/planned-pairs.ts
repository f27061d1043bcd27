import * as z from 'zod';

import { gatedMetricSchema } from './gated-metric.ts';
import { idSchema, type Immutable, textOrNull } from './scalars.ts';

/** A suspect of a sweep, to be measured alternately with its newest and its last good engine. Kept with the plan. */
export const plannedPairsSchema = z.object({
  cellKey: idSchema,
  metric: gatedMetricSchema,
  lastGoodSweepId: idSchema,
  newestBuildId: textOrNull,
  /** Equal to the newest where nothing was rebuilt: then only that one is measured again. */
  lastGoodBuildId: textOrNull,
  /** Eight pairs in place of five. */
  isUnsteady: z.boolean(),
  /** Why there is nothing to measure; null if there is. */
  problem: textOrNull,
});

export type PlannedPairs = Immutable<z.infer<typeof plannedPairsSchema>>;
