import * as z from 'zod';

import { boundBySchema } from '../../records/bound.ts';
import { causeSchema, EXPLAINED_METRICS, valueChangeSchema } from '../../records/cause.ts';
import { id, output, type OutputOf, provenance } from '../../records/output-parts.ts';

const side = z.strictObject({
  ref: z.string(),
  key: id,
  label: z.string(),
  sweepIds: z.array(id),
  provenance: z.array(provenance),
  boundBy: boundBySchema,
  note: z.string().nullable(),
});

export const why = output('bench why --json', {
  base: side,
  head: side,
  outcome: z
    .enum(['explained', 'notExplained', 'unclear', 'noDifference'])
    .describe('unclear: it may be chance; the causes are what would explain it'),
  metric: z.enum(EXPLAINED_METRICS).nullable().describe('The change that is explained'),
  changes: z.array(valueChangeSchema),
  causes: z.array(causeSchema).describe('The likeliest first'),
  layers: z.array(z.string()).describe('Changed layers that no cause names, by what they cost'),
  same: z.array(z.string()),
  unknown: z.array(z.string()),
  notes: z.array(z.string()).describe('Limitations of the evidence'),
});

export type WhyOutput = OutputOf<typeof why>;

/** The explanation of two sides, without their names. */
export type Explanation = Omit<WhyOutput, 'schemaVersion' | 'base' | 'head'>;
