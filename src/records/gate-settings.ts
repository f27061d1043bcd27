import * as z from 'zod';

import { gatedMetricSchema } from './gated-metric.ts';
import { type Immutable, idSchema, textOrNull } from './scalars.ts';

/** Keys of the cells that an entry is about: its filter, applied to the matrix. Null: all of them. */
const cells = z.array(idSchema).nullable();

/** Null: every metric. */
const metric = gatedMetricSchema.nullable();

const limitSchema = z.object({
  /** As the matrix states it, without its filter. */
  text: z.string(),
  filter: textOrNull,
  metric: gatedMetricSchema,
  /** The value of a cell is to be at most, or at least, this; in the unit of the metric. */
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

/** `gate:` of a matrix as kept with its sweeps; no program is part of it. Of several entries the last that fits holds. */
export const gateSettingsSchema = z.object({
  /** Slower cells are measured in pairs with the last good engine. */
  confirm: z.boolean().default(false),
  /** Null: a tenth of the sweep, and always enough for three cells. */
  confirmBudget: confirmBudgetSchema.nullable().default(null),
  minChange: z.array(z.object({ metric, cells, percent: z.number() })).default([]),
  limits: z.array(limitSchema).default([]),
  /** The baseline that is the reference. */
  against: textOrNull.default(null),
  /** The name that the matrix had before. */
  renamedFrom: textOrNull.default(null),
  /** What only warns. */
  warn: z.array(z.object({ metric, cells })).default([]),
  owners: z.array(z.object({ owner: z.string(), cells })).default([]),
});

export type GateSettings = Immutable<z.infer<typeof gateSettingsSchema>>;

export const NO_GATE: GateSettings = gateSettingsSchema.parse({});

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
