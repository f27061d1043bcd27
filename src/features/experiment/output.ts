import * as z from 'zod';

import { abJudgementSchema } from '../../judge/experiment.ts';
import { aboutCell, count, id, output, type OutputOf, provenance } from '../../records/output-parts.ts';
import { RUN_FLAGS } from '../../records/run-flag.ts';
import { SWEEP_STATES } from '../../records/sweep.ts';

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
  variables: z.record(z.string(), z.string()).describe('Variables of side B'),
  before: z.record(z.string(), z.array(z.string().nullable())).describe('Their values in A; null if not set'),
  significantPercent: z.number(),
  marks: z.array(z.enum(RUN_FLAGS)).describe('Marks that make the runs of B ineligible as a baseline'),
  cells: z.array(
    z.strictObject({
      ...aboutCell,
      bKey: id.describe('Key of the same cell with the variables'),
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
