import * as z from 'zod';

import { abJudgementSchema } from '../../judge/experiment.ts';
import { firstCauseSchema } from '../../records/cause.ts';
import {
  aboutCell,
  commonShift,
  count,
  id,
  metric,
  output,
  outputOfVersion,
  type OutputOf,
  provenance,
} from '../../records/output-parts.ts';
import { RUN_FLAGS } from '../../records/run-flag.ts';
import { SWEEP_STATES } from '../../records/sweep.ts';
import { cellComparisonSchema, geometricMeanSchema, VERDICTS } from '../../records/verdict.ts';

const { cellKey: _, ...judged } = cellComparisonSchema.shape;

const side = z.strictObject({
  sweepIds: z.array(id),
  commit: z.string().nullable(),
  dirty: z.boolean().nullable(),
  note: z.string().nullable().describe('What was taken in place of what was asked for'),
});

export const comparison = outputOfVersion(2, 'bench compare --json', {
  baseRef: z.string(),
  headRef: z.string(),
  base: side,
  head: side,
  provenance: z.union([provenance, z.array(provenance)]),
  shift: commonShift,
  across: z.array(z.string()).describe('Differences in spite of which cells were compared, as --across-… asked for'),
  otherMethods: count.describe(
    'Cells on both sides that only another way of measuring keeps apart: see --across-methods',
  ),
  cells: z.array(
    z.strictObject({
      ...aboutCell,
      betterIs: z.enum(['lower', 'higher']),
      ...judged,
      cause: firstCauseSchema.nullable().describe('The likeliest cause of a change'),
    }),
  ),
  counts: z.record(z.enum(VERDICTS), count),
  geometricMeans: z
    .array(
      z.strictObject({
        metric,
        by: z.enum(['all', 'model', 'precision']),
        name: z.string().nullable().describe('Of the model or precision'),
        ...geometricMeanSchema.shape,
      }),
    )
    .describe('Of head over base; by model and by precision where there are several'),
});

export type Comparison = OutputOf<typeof comparison>;

export type ComparedCell = Comparison['cells'][number];

export const ab = output('bench ab --json', {
  sweepId: id,
  name: z.string(),
  matrix: z.string().nullable(),
  provenance,
  state: z.enum(SWEEP_STATES),
  tensorrt: z.string().nullable(),
  versions: z
    .array(z.strictObject({ harness: z.string(), version: z.string().nullable() }))
    .describe('Of the other harnesses that measured it'),
  variables: z.record(z.string(), z.string()).describe('What B sets'),
  before: z.record(z.string(), z.array(z.string().nullable())).describe('What they are in A; null: not set'),
  significantPercent: z.number(),
  marks: z.array(z.enum(RUN_FLAGS)).describe('What bars the runs of B from baselines'),
  cells: z.array(
    z.strictObject({
      ...aboutCell,
      bKey: id.describe('Of the same cell with the variables set'),
      betterIs: z.enum(['lower', 'higher']),
      a: z.number().nullable().describe('Centre over its runs'),
      b: z.number().nullable(),
      runs: z.tuple([count, count]),
      ...abJudgementSchema.shape,
    }),
  ),
  overall: abJudgementSchema.describe('The mean of all cells'),
  notes: z.array(z.string()),
});

export type AbOutput = OutputOf<typeof ab>;
