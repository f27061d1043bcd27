import * as z from 'zod';

import { abJudgementSchema } from '../../judge/experiment.ts';
import { aboutCell, count, id, output, type OutputOf, provenance } from '../../records/output-parts.ts';
import { RUN_MARKS } from '../../records/run-flag.ts';

export const ab = output('bench ab --json', {
  sweepId: id,
  name: z.string(),
  matrix: z.string().nullable(),
  provenance,
  variables: z.record(z.string(), z.string()).describe('Variables of side B'),
  significantPercent: z.number(),
  marks: z.array(z.enum(RUN_MARKS)).describe('Marks that make the runs of B ineligible as a baseline'),
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
