import * as z from 'zod';

import { CELL_REASONS, CELL_VERDICTS } from '../../judge/gate/evidence.ts';
import { TREND_UNITS, trendMarkSchema, trendStepSchema } from '../../judge/trend.ts';
import { aboutCell, outputOfVersion, type OutputOf, provenance } from '../../records/output-parts.ts';
import { RUN_FLAGS } from '../../records/run-flag.ts';

export const trend = outputOfVersion(2, 'bench trend --json', {
  provenance,
  cells: z.array(
    z.strictObject({
      ...aboutCell,
      by: z.enum(TREND_UNITS),
      points: z.array(trendStepSchema),
      marks: z.array(trendMarkSchema),
      verdict: z.enum(CELL_VERDICTS).nullable().describe('As in `check`; null where it does not judge this metric'),
      reason: z.enum(CELL_REASONS).nullable().describe('Why it is not compared'),
      before: z.number().nullable().describe('Reference level; where `check` does not judge, the previous sweep'),
      now: z.number().nullable().describe('Newest sweep'),
      changePercent: z.number().nullable().describe('As `check` has it'),
      strip: z
        .strictObject({ metric: aboutCell.metric, unit: aboutCell.unit, values: z.array(z.number().nullable()) })
        .exactOptional()
        .describe('Of --with: a value for each point; null where its runs have none'),
      barred: z.array(z.enum(RUN_FLAGS)).describe('Why it is never a baseline: of its newest run'),
    }),
  ),
});

export type TrendOutput = OutputOf<typeof trend>;

export type TrendSeries = TrendOutput['cells'][number];
