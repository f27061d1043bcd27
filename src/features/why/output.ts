import * as z from 'zod';

import { CAUSE_KINDS, EXPLAINED_METRICS } from '../../records/cause.ts';
import { count, id, output, type OutputOf, provenance } from '../../records/output-parts.ts';

const metric = z.enum(EXPLAINED_METRICS);
const side = z.strictObject({
  ref: z.string(),
  key: id,
  label: z.string(),
  sweepIds: z.array(id),
  provenance: z.array(provenance),
  note: z.string().nullable(),
});

const cause = z.strictObject({
  kind: z.enum(CAUSE_KINDS),
  certainty: z
    .enum(['shown', 'likely', 'possible'])
    .describe('The evidence shows it, fits in size, or only could do it'),
  title: z.string(),
  evidence: z.array(z.string()),
  explainsPercent: z.number().nullable().describe('Share of the change; null: cannot be counted'),
  confirm: z.string(),
  rank: z.number().describe('How strongly it is suspected, up to 100'),
});

export const firstCause = cause.pick({ kind: true, certainty: true, title: true, explainsPercent: true });

export const why = output('bench why --json', {
  base: side,
  head: side,
  outcome: z
    .enum(['explained', 'notExplained', 'unclear', 'noDifference'])
    .describe('unclear: it may be chance; the causes are what would explain it'),
  metric: metric.nullable().describe('The change that is explained'),
  changes: z.array(
    z.strictObject({
      metric,
      base: z.number(),
      head: z.number(),
      changePercent: z.number(),
      ciPercent: z.tuple([z.number(), z.number()]).nullable(),
      runs: z.tuple([count, count]),
      isReal: z.boolean(),
      isUnclear: z.boolean(),
      leastPercent: z.number().describe('The smallest change that would be seen'),
      basis: z.string(),
    }),
  ),
  causes: z.array(cause).describe('The likeliest first'),
  same: z.array(z.string()),
  unknown: z.array(z.string()),
  notes: z.array(z.string()).describe('What makes the evidence less than it seems'),
});

export type WhyOutput = OutputOf<typeof why>;
