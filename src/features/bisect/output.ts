import * as z from 'zod';

import { cellComparisonSchema } from '../../records/verdict.ts';
import { count, id, metric, output, type OutputOf, provenance, unit } from '../../records/output-parts.ts';

/** `unclear` after the maximum number of runs, `broken` when it could not be measured. */
const STEP_VERDICTS = ['good', 'bad', 'unclear', 'broken'] as const;

const evidence = cellComparisonSchema
  .pick({ base: true, head: true, changePercent: true, ciPercent: true, mdePercent: true, runs: true })
  .strict()
  .nullable();

const end = z.strictObject({
  ref: z.string().nullable().describe('As requested'),
  commit: z.string().nullable(),
  subject: z.string().nullable(),
  sweepId: id,
});

export const bisectOutput = output('bench bisect --json', {
  kind: z.enum(['commits', 'factors']),
  status: z.enum(['found', 'range', 'together', 'notSlower', 'unclear', 'failed']),
  bisectId: id,
  key: id.nullable(),
  label: z.string().nullable(),
  metric,
  unit,
  betterIs: z.enum(['lower', 'higher']),
  provenance: provenance.nullable(),
  good: end,
  bad: end,
  change: evidence.describe('The bad end against the good one'),
  causes: z
    .array(
      z.strictObject({
        name: z.string().describe('A commit, or the name of a factor'),
        subject: z.string().nullable(),
        evidence,
      }),
    )
    .describe('The one when it was found, else those that it may be'),
  steps: z.array(
    z.strictObject({
      candidate: z.array(z.string()).describe('The commit, or the factors at their bad value'),
      subject: z.string().nullable(),
      verdict: z.enum(STEP_VERDICTS),
      reason: z.string().nullable(),
      evidence,
      sweepId: id,
    }),
  ),
  runs: count.describe('All that were measured, those of the ends too'),
  notes: z.array(z.string()),
});

export type BisectOutput = OutputOf<typeof bisectOutput>;
