import * as z from 'zod';

import { metricSchema } from './metric.ts';
import { PROVENANCES } from './sweep.ts';
import { idSchema, type Immutable, textOrNull } from './scalars.ts';

/**
 * What becomes of a change that was reported: `new` on the night of its report, `open` while later nights confirm it,
 * `withdrawn` when they do not, `recovered` when the old level is back, `accepted` while somebody says that it may stay.
 */
export const FINDING_STATES = ['new', 'open', 'withdrawn', 'recovered', 'accepted'] as const;

export type FindingState = (typeof FINDING_STATES)[number];

export const findingSchema = z.object({
  /** Hash of the finding's subject: the same finding has the same id in every store. */
  findingId: idSchema,
  cellKey: idSchema,
  metric: metricSchema,
  provenance: z.enum(PROVENANCES),
  branch: textOrNull,
  matrix: textOrNull,
  direction: z.enum(['slower', 'faster']),
  changePercent: z.number().describe('Raw change of the value'),
  margin: z.number().describe('How clear it is: 1 is the least'),
  /** The levels, in the unit of the metric. */
  before: z.number(),
  after: z.number(),
  state: z.enum(FINDING_STATES),
  lastGoodSweepId: idSchema.nullable(),
  firstBadSweepId: idSchema,
  toldSweepId: idSchema,
});

export type Finding = Immutable<z.infer<typeof findingSchema>>;

const acknowledgementSchema = z.object({
  findingId: idSchema,
  reason: z.string(),
  /** A date (2026-12-31) or a full commit id; null: without end. */
  until: textOrNull,
  /** The level when accepted, in the unit of the metric: the acknowledgement does not cover a much worse one. */
  level: z.number(),
  createdAt: z.string(),
});

export type Acknowledgement = Immutable<z.infer<typeof acknowledgementSchema>>;
