import * as z from 'zod';

import { commonShift, count, id, metric, output, type OutputOf, provenance, unit } from '../../records/output-parts.ts';
import { NOISE_SOURCES, VERDICTS } from '../../records/verdict.ts';
import { firstCause } from '../why/index.ts';

const verdict = z.enum(VERDICTS);

const side = z.strictObject({
  sweepIds: z.array(id),
  commit: z.string().nullable(),
  dirty: z.boolean().nullable(),
  note: z.string().nullable().describe('What was taken in place of what was asked for'),
});

export const comparison = output('bench compare --json', {
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
      key: id,
      label: z.string(),
      metric,
      unit,
      betterIs: z.enum(['lower', 'higher']),
      verdict,
      base: z.number().nullable(),
      head: z.number().nullable(),
      changePercent: z
        .number()
        .nullable()
        .describe('Raw change of the value: +16 is 16 % more milliseconds, or queries a second'),
      ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval'),
      mdePercent: z.number().nullable().describe('The smallest change that would have been seen'),
      runs: z.tuple([count, count]),
      moreRunsNeeded: count.nullable().describe('More runs a side that settle an unclear cell four times in five'),
      noise: z
        .strictObject({
          from: z.enum(NOISE_SOURCES),
          runPercent: z.number().describe('Standard deviation of a run'),
          nightPercent: z
            .number()
            .describe('What cells differ by beyond their runs: standard deviation of a difference'),
          nights: count.describe('Earlier nights that count'),
          nightsLeftOut: count.describe('Earlier nights that were left out as outliers'),
        })
        .nullable()
        .describe('Where the error of the change comes from'),
      reasons: z.array(z.string()),
      cause: firstCause.nullable().describe('The likeliest cause of a change'),
    }),
  ),
  counts: z.record(verdict, count),
});

export type Comparison = OutputOf<typeof comparison>;

export type ComparedCell = Comparison['cells'][number];
