import * as z from 'zod';

import { count, id, metric, output, type OutputOf, provenance, unit } from '../../records/output-parts.ts';
import { RUN_FLAGS } from '../../records/run-flag.ts';

export const trend = output('bench trend --json', {
  provenance,
  cells: z.array(
    z.strictObject({
      key: id,
      label: z.string(),
      metric,
      unit,
      by: z.enum(['run', 'sweep', 'night', 'commit']),
      points: z.array(
        z.strictObject({
          id: z.string(),
          sweepId: id.nullable(),
          value: z.number().nullable().describe('Null for a night without results'),
          runs: count,
        }),
      ),
      marks: z.array(
        z.strictObject({
          step: count.describe('Place among the points, from 0'),
          kind: z.enum(['slower', 'faster', 'environment', 'baseline']),
          text: z.string(),
          breaksLine: z.boolean(),
        }),
      ),
      barred: z.array(z.enum(RUN_FLAGS)).describe('Why it is never a baseline: of its newest run'),
    }),
  ),
});

export type TrendOutput = OutputOf<typeof trend>;

export type TrendSeries = TrendOutput['cells'][number];
