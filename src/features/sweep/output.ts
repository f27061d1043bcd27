import * as z from 'zod';

import { cellBoundSchema } from '../../records/bound.ts';
import * as part from '../../records/output-parts.ts';
import { numberOrNull } from '../../records/scalars.ts';
import { VERDICTS } from '../../records/verdict.ts';
import { SHARED_REASONS } from '../../run/unfit-rounds.ts';

const switchGains = z
  .strictObject({
    medianPercent: z.number(),
    pairs: z.array(
      z.strictObject({
        withoutKey: part.id,
        withKey: part.id,
        gainPercent: z.number(),
        ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval of the gain'),
        latencyChangePercent: numberOrNull.describe('Change of the median latency; negative: lower with a CUDA graph'),
        verdict: z.enum(VERDICTS),
        reasons: z.array(z.string()),
      }),
    ),
  })
  .nullable();

const counts = { measured: part.count, unfit: part.count, failed: part.count, skipped: part.count, kept: part.count };
const timeShare = numberOrNull.describe('Null without a profile of the cell');
const share = z.strictObject({ asked: z.string(), timeShare, layerShare: z.number(), isReal: z.boolean() });

export const shownSweep = part.output('bench run --json, and bench show SWEEP --json', {
  ...part.sweep.shape,
  importNotes: z
    .array(z.string())
    .describe('What is said of the numbers: by `bench import --note`, by the matrix, of a conversion'),
  counts: z.strictObject({ ...counts, replaced: part.count.describe('Unfit runs that bench measured again') }),
  graphGains: switchGains.describe('Throughput gain of a CUDA graph, for cells measured with and without'),
  transferCosts: switchGains.describe('Throughput change by transfers, for cells measured with and without'),
  neighborCosts: switchGains.describe('Throughput change by a neighbor, for cells measured with and without'),
  runtimeCosts: switchGains.describe('Throughput change by a lean or dispatch runtime in place of the full one'),
  stopped: z
    .strictObject({
      reason: z.enum(SHARED_REASONS),
      runs: part.count.describe('Number of consecutive runs'),
      cells: part.count,
      evidence: z.string().nullable().describe('Evidence of the last run'),
    })
    .exactOptional()
    .describe('Why `bench run` stopped after an unfit round; absent if it did not stop'),
  failures: z
    .array(
      z.strictObject({
        runId: part.id,
        role: part.role,
        label: z.string(),
        kind: z.enum(['unfit', 'failed']),
        reason: part.reason,
        evidence: part.evidence.nullable().describe('The first log line that shows the reason'),
      }),
    )
    .describe('Runs and builds that failed or were unfit'),
  cells: z.array(
    z.strictObject({
      key: part.id,
      label: z.string(),
      measured: part.count,
      metric: part.metric.describe('Metric of the verdicts: gpuComputeMs for trtexec'),
      value: numberOrNull.describe('Median of that metric over the runs'),
      gpuComputeMs: numberOrNull.describe('Median over the runs of their medians'),
      latencyMs: numberOrNull.describe('Median over the runs of their medians'),
      throughputQps: numberOrNull,
      throughputFrom: part.throughputFrom,
      itemsPerS: numberOrNull,
      p99Ms: numberOrNull,
      tunedBatch: part.count.nullable().describe('Batch in opt of its optimization profile'),
      spreadPercent: numberOrNull,
      precisionShare: share.nullable().describe('Actual precision: shares in the precision of the cell, from 0 to 1'),
      bound: cellBoundSchema,
      noEngine: part.reason.describe('Why the build of its engine failed'),
      others: z.array(
        z.strictObject({ role: part.role, kind: z.enum(['unfit', 'failed']), reason: part.reason, times: part.count }),
      ),
      flags: z.array(
        part.flag.omit({ value: true }).extend({ times: part.count.describe('Number of runs with this flag') }),
      ),
    }),
  ),
});

export type ShownSweep = part.OutputOf<typeof shownSweep>;
