import * as z from 'zod';

import { gatedMetricSchema } from './gated-metric.ts';
import { type Immutable, idSchema, textOrNull } from './scalars.ts';

/** Keys of the cells of an entry: its filter applied to the matrix. Null for all cells. */
const cells = z.array(idSchema).nullable();

/** Null for every metric. */
const metric = gatedMetricSchema.nullable();

const limitSchema = z.object({
  /** Text in the matrix, without the filter. */
  text: z.string(),
  filter: textOrNull,
  metric: gatedMetricSchema,
  /** The value of a cell must be at most, or at least, `value`, in the unit of the metric. */
  comparison: z.enum(['<=', '>=']),
  value: z.number(),
  cells,
});

export type GateLimit = Immutable<z.infer<typeof limitSchema>>;

const confirmBudgetSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('share'), percent: z.number() }),
  z.object({ kind: z.literal('time'), seconds: z.number() }),
]);

export type ConfirmBudget = z.infer<typeof confirmBudgetSchema>;

/**
 * `gate:` of a matrix, as stored with its sweeps; excludes programs. Of several matching entries, the last one applies.
 */
export const gateSettingsSchema = z.object({
  /** Whether slower cells are measured in pairs with the last good engine. */
  confirm: z.boolean().default(false),
  /** Null for a tenth of the sweep, and always enough for three cells. */
  confirmBudget: confirmBudgetSchema.nullable().default(null),
  minChange: z.array(z.object({ metric, cells, percent: z.number() })).default([]),
  limits: z.array(limitSchema).default([]),
  /** Name of the baseline that is the reference. */
  against: textOrNull.default(null),
  /** Previous name of the matrix. */
  renamedFrom: textOrNull.default(null),
  /** Metrics and cells that only warn. */
  warn: z.array(z.object({ metric, cells })).default([]),
  owners: z.array(z.object({ owner: z.string(), cells })).default([]),
});

export type GateSettings = Immutable<z.infer<typeof gateSettingsSchema>>;

export const NO_GATE: GateSettings = gateSettingsSchema.parse({});

/** A suspect of a sweep, to be measured alternately with its newest and its last good engine. Stored with the plan. */
export const plannedPairsSchema = z.object({
  cellKey: idSchema,
  metric: gatedMetricSchema,
  lastGoodSweepId: idSchema,
  newestBuildId: textOrNull,
  /** Equal to the newest if nothing was rebuilt; then only the newest is measured again. */
  lastGoodBuildId: textOrNull,
  /** True for eight pairs instead of five. */
  isUnsteady: z.boolean(),
  /** Why there is nothing to measure; null if there is. */
  problem: textOrNull,
});

export type PlannedPairs = Immutable<z.infer<typeof plannedPairsSchema>>;
