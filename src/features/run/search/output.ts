import * as z from 'zod';

import { SEARCH_AXES } from '../../../judge/latency-search.ts';
import { count, id, output, type OutputOf, provenance } from '../../../records/output-parts.ts';

const point = z.strictObject({
  key: id,
  label: z.string(),
  at: count.describe('Its batch, or its streams'),
  state: z
    .enum(['holds', 'misses', 'open', 'lost', 'notMeasured'])
    .describe('open: more runs would be needed; lost: it could not be measured'),
  isClose: z.boolean().describe('Too close to the limit for the noise of its runs: their median decided'),
  limitedMs: z.number().nullable().describe('Median of its runs'),
  runs: count,
  knownRuns: count.describe('Number of these that come from other sweeps'),
});

export const search = output('bench choose --search --json', {
  sweepId: id.nullable().describe('Null for a dry run, and where all was known'),
  provenance,
  limits: z.strictObject({
    maxLatencyMs: z.number(),
    metric: z.enum(['median', 'p99']),
    surePercent: z.number(),
    maxRuns: count.nullable(),
  }),
  axis: z.enum(SEARCH_AXES),
  groups: z.array(
    z.strictObject({
      label: z.string().describe('Label of its smallest cell'),
      model: z.string(),
      precision: z.string(),
      isComplete: z.boolean(),
      isMonotone: z.boolean().describe('False where a larger point was faster than a smaller one'),
      highest: point.nullable().describe('The highest that holds the limit, as far as is known'),
      points: z.array(point),
    }),
  ),
  runs: z.strictObject({
    made: count,
    known: count.describe('From other sweeps of the same commit and machine'),
    expected: count.describe('Expected runs of such a search if nothing is near the limit'),
    product: count.describe('Runs that all cells would take with the maximum of repeats'),
  }),
});

export type SearchOutput = OutputOf<typeof search>;
