import * as z from 'zod';

import { firstCauseSchema } from '../../records/cause.ts';
import * as parts from '../../records/output-parts.ts';
import { cellComparisonSchema, geometricMeanSchema, VERDICTS } from '../../records/verdict.ts';

const side = z.strictObject({
  sweepIds: z.array(parts.id),
  commit: z.string().nullable(),
  dirty: z.boolean().nullable(),
  note: z.string().nullable().describe('What replaced the requested side'),
});

export const comparison = parts.outputOfVersion(2, 'bench compare --json', {
  baseRef: z.string(),
  headRef: z.string(),
  base: side,
  head: side,
  provenance: z.union([parts.provenance, z.array(parts.provenance)]),
  shift: parts.commonShift,
  across: z.array(z.string()).describe('Differences that --across-… options allowed'),
  otherMethods: parts.count.describe('Cells on both sides whose harnesses differ; --across-methods compares them'),
  cells: z.array(
    z.strictObject({
      ...parts.aboutCell,
      betterIs: z.enum(['lower', 'higher']),
      ...cellComparisonSchema.shape,
      cause: firstCauseSchema.nullable().describe('The likeliest cause of a change'),
    }),
  ),
  counts: z.record(z.enum(VERDICTS), parts.count),
  geometricMeans: z
    .array(
      z.strictObject({
        metric: parts.metric,
        by: z.enum(['all', 'model', 'precision']),
        name: z.string().nullable().describe('Name of the model or precision'),
        ...geometricMeanSchema.shape,
      }),
    )
    .describe('Geometric means of head / base, for all cells, each model and each precision'),
});

export type Comparison = parts.OutputOf<typeof comparison>;

export type ComparedCell = Comparison['cells'][number];
