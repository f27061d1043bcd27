import * as z from 'zod';

import { gatedMetricSchema } from './gated-metric.ts';
import { PROVENANCES } from './sweep.ts';
import { count, idSchema, type Immutable, textOrNull } from './scalars.ts';

export const FINDING_STATES = ['open', 'recovered'] as const;
/** States in outputs: `new` in the sweeps that were judged last, then `open` until one of the others applies. */
export const SAID_STATES = ['new', 'open', 'acknowledged', 'recovered'] as const;
/**
 * `earlierRules`: judged by a version of bench that did not compare with reference levels. `earlierRulesReported`: the
 * same, after a note on the effect for its findings.
 */
export const JUDGED_BY = ['reference', 'first', 'earlierRules', 'earlierRulesReported'] as const;

/** @param batch IDs of the sweeps that were judged last */
export function saidState(
  { reportedSweepId, state }: Pick<Finding, 'reportedSweepId' | 'state'>,
  isAcknowledged: boolean,
  batch: ReadonlySet<string>,
): (typeof SAID_STATES)[number] {
  if (state === 'recovered') return 'recovered';
  return isAcknowledged ? 'acknowledged' : batch.has(reportedSweepId) ? 'new' : 'open';
}

const findingCellSchema = z.object({
  cellKey: idSchema,
  metric: gatedMetricSchema,
  changePercent: z.number().describe('Raw change of the value'),
  ciPercent: z.tuple([z.number(), z.number()]).nullable(),
  margin: z.number(),
  before: z.number(),
  after: z.number(),
});

const pairsSchema = z.object({
  count,
  agreeing: count,
  metric: gatedMetricSchema
    .nullable()
    .default(null)
    .describe('What they compare; null if an earlier bench stored them'),
  changePercent: z.number(),
  outcome: z.string(),
  cells: z.array(idSchema).default([]).describe('Cells measured in pairs; the others changed similarly'),
});

export const findingSchema = z.object({
  findingId: idSchema,
  kind: z.enum(['change', 'limit']),
  isWarning: z.boolean().describe('Reported without an exit code'),
  provenance: z.enum(PROVENANCES),
  branch: textOrNull,
  matrix: textOrNull,
  direction: z.enum(['slower', 'faster']),
  state: z.enum(FINDING_STATES),
  group: z.array(z.string()).describe('Words that only the labels of these cells contain'),
  /** Pairs with the last good engine, further sweeps, or a metric without noise. */
  lasts: z
    .enum(['pairs', 'history', 'measured'])
    .nullable()
    .describe('Evidence that the change lasts; null if there is none yet'),
  cause: z.enum(['engine', 'buildLuck', 'environment', 'version', 'machine']).nullable(),
  environmentChanges: z.array(z.string()),
  pairs: pairsSchema.nullable(),
  lastGoodSweepId: idSchema.nullable(),
  firstBadSweepId: idSchema,
  /** The last sweep with the change; null while unknown. */
  lastBadSweepId: idSchema.nullable(),
  reportedSweepId: idSchema,
  owner: textOrNull,
  cells: z.array(findingCellSchema),
});

export type Finding = Immutable<z.infer<typeof findingSchema>>;

export const acknowledgementSchema = z.object({
  findingId: idSchema,
  reason: z.string(),
  until: textOrNull,
  owner: textOrNull,
  createdAt: z.string(),
});

export type Acknowledgement = Immutable<z.infer<typeof acknowledgementSchema>>;

/** `until 2026-12-31`, or the start of a commit. */
export function termText(until: string): string {
  return `until ${until.length === 40 ? until.slice(0, 8) : until}`;
}

/** Why a finding is accepted, and for how long: `known (until 2026-12-31)`. Not safe to print. */
export function acceptedText({ reason, until }: Pick<Acknowledgement, 'reason' | 'until'>): string {
  return until === null ? reason : `${reason} (${termText(until)})`;
}

export const judgedSweepSchema = z.object({
  sweepId: idSchema,
  judgedAt: z.string(),
  judgedBy: z.enum(JUDGED_BY),
  /** Number of planned cells without a result; null for sweeps judged by versions that did not store it. */
  failedCells: z.number().int().min(0).nullable().default(null),
});

export type JudgedSweep = Immutable<z.infer<typeof judgedSweepSchema>>;

const MAX_FINDINGS = 10_000;

/** Findings next to the artefacts of the sweep that reported them, in their current state. */
export const findingsFileSchema = z.object({
  schemaVersion: z.literal(2),
  sweepId: idSchema,
  judged: judgedSweepSchema.nullable(),
  findings: z.array(findingSchema).max(MAX_FINDINGS),
  acknowledgements: z.array(acknowledgementSchema).max(MAX_FINDINGS),
});

export type FindingsFile = Immutable<z.infer<typeof findingsFileSchema>>;
