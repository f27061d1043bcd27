import * as z from 'zod';

import { AB_VERDICTS } from '../../judge/experiment.ts';
import { RUN_FLAGS } from '../../records/run-flag.ts';
import { SWEEP_STATES } from '../../records/sweep.ts';
import { count, id, metric, output, type OutputOf, provenance, unit } from '../../records/output-parts.ts';

const judgement = {
  verdict: z
    .enum(AB_VERDICTS)
    .describe('significant: the whole interval is above the threshold; notABottleneck: below it'),
  gainPercent: z
    .number()
    .nullable()
    .describe("B's speed over A's, less one: of times it is A over B, so that more is better"),
  ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval'),
  moreRepeats: count
    .nullable()
    .describe('More repeats of each side that would settle what is unclear; null: none would'),
  reasons: z.array(z.string()),
};

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
      key: id,
      bKey: id.describe('Of the same cell with the variables set'),
      label: z.string(),
      metric,
      unit,
      betterIs: z.enum(['lower', 'higher']),
      a: z.number().nullable().describe('Centre over its runs'),
      b: z.number().nullable(),
      runs: z.tuple([count, count]),
      ...judgement,
    }),
  ),
  overall: z.strictObject(judgement).describe('The mean of all cells'),
  notes: z.array(z.string()),
});

export type AbOutput = OutputOf<typeof ab>;
