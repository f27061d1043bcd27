import * as z from 'zod';

import { attachment } from '../../files/layout.ts';
import { deploymentSchema } from '../../judge/deployment.ts';
import { cellBoundSchema } from '../../records/bound.ts';
import { OUTCOME_KINDS } from '../../records/outcome.ts';
import {
  cell,
  count,
  evidence,
  flag,
  id,
  instant,
  layer,
  method,
  metric,
  output,
  type OutputOf,
  provenance,
  reason,
  role,
  statistics,
  sweep,
  telemetry,
} from '../../records/output-parts.ts';
import { numberOrNull } from '../../records/scalars.ts';
import { SHARED_REASONS } from '../../run/unfit-rounds.ts';
import { VERDICTS } from '../../records/verdict.ts';

const switchGains = z
  .strictObject({
    medianPercent: z.number(),
    pairs: z.array(
      z.strictObject({
        withoutKey: id,
        withKey: id,
        gainPercent: z.number(),
        ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval of the gain'),
        latencyChangePercent: numberOrNull.describe('Change of the median latency; negative: lower with a CUDA graph'),
        verdict: z.enum(VERDICTS),
        reasons: z.array(z.string()),
      }),
    ),
  })
  .nullable();

export const shownSweep = output('bench run --json, and bench show SWEEP --json', {
  ...sweep.shape,
  importNotes: z.array(z.string()).describe('What is said of imported numbers (`bench import --note`)'),
  counts: z.strictObject({
    measured: count,
    unfit: count,
    failed: count,
    skipped: count,
    kept: count,
    replaced: count.describe('Unfit runs that bench measured again'),
  }),
  graphGains: switchGains.describe('Throughput gain of a CUDA graph, for cells measured with and without'),
  transferCosts: switchGains.describe('Throughput change by transfers, for cells measured with and without'),
  neighborCosts: switchGains.describe('Throughput change by a neighbor, for cells measured with and without'),
  stopped: z
    .strictObject({
      reason: z.enum(SHARED_REASONS),
      runs: count.describe('Number of consecutive runs'),
      cells: count,
      evidence: z.string().nullable().describe('Evidence of the last run'),
    })
    .exactOptional()
    .describe('Why `bench run` stopped after an unfit round; absent if it did not stop'),
  failures: z
    .array(
      z.strictObject({
        runId: id,
        role,
        label: z.string(),
        kind: z.enum(['unfit', 'failed']),
        reason,
        evidence: evidence.nullable().describe('The first log line that shows the reason'),
      }),
    )
    .describe('Runs and builds that failed or were unfit'),
  cells: z.array(
    z.strictObject({
      key: id,
      label: z.string(),
      measured: count,
      metric: metric.describe('Metric of the verdicts: gpuComputeMs for trtexec'),
      value: numberOrNull.describe('Median of that metric over the runs'),
      gpuComputeMs: numberOrNull.describe('Median over the runs of their medians'),
      latencyMs: numberOrNull.describe('Median over the runs of their medians'),
      throughputQps: numberOrNull,
      throughputFrom: deploymentSchema.shape.throughputFrom,
      itemsPerS: numberOrNull,
      p99Ms: numberOrNull,
      tunedBatch: count.nullable().describe('Batch in opt of its optimization profile'),
      spreadPercent: numberOrNull,
      precisionShare: z
        .strictObject({
          asked: z.string(),
          timeShare: numberOrNull.describe('Null without a profile of the cell'),
          layerShare: z.number(),
          isReal: z.boolean(),
        })
        .nullable()
        .describe('Actual precision: shares in the precision of the cell, from 0 to 1'),
      bound: cellBoundSchema,
      noEngine: reason.describe('Why the build of its engine failed'),
      others: z.array(z.strictObject({ role, kind: z.enum(['unfit', 'failed']), reason, times: count })),
      flags: z.array(flag.omit({ value: true }).extend({ times: count.describe('Number of runs with this flag') })),
    }),
  ),
});

export type ShownSweep = OutputOf<typeof shownSweep>;

const outcome = z.strictObject({ kind: z.enum(OUTCOME_KINDS), reason: reason.optional(), evidence: z.array(evidence) });
const listedRun = z.strictObject({
  runId: id,
  sweepId: id,
  role,
  repeat: count,
  startedAt: instant.nullable(),
  outcome,
});
export const shownCell = output('bench show CELL --json', {
  cell,
  bound: cellBoundSchema.describe('What limits throughput in the newest sweep that measured it; null where not known'),
  runs: z.array(
    listedRun.extend({
      gpuComputeMs: numberOrNull.describe('Median; null if nothing was measured'),
      throughputQps: numberOrNull,
      value: numberOrNull.describe('Value in the metric of its cell, for a harness other than trtexec'),
    }),
  ),
  latencyGaps: z
    .array(
      z.strictObject({
        trtexecKey: id,
        trtexecMs: z.number(),
        hasTransfers: z.boolean().describe('Whether the latency of trtexec includes copies'),
        applicationKey: id,
        metric,
        applicationMs: z.number(),
        gapMs: z.number().describe('Time that trtexec does not measure: decoding, queues, pre- and postprocessing'),
        otherLabel: z.string().describe('Label of the compared cell'),
      }),
    )
    .describe('Latencies of other harnesses for the same model, precision and shapes; medians of the newest sweeps'),
});
export const shownRun = output('bench show RUN --json', {
  ...listedRun.shape,
  bound: cellBoundSchema,
  cellKey: id.nullable(),
  cell: cell.nullable(),
  provenance,
  wallS: numberOrNull,
  exitCode: z.number().int().nullable(),
  signal: z.string().nullable(),
  timedOut: z.boolean(),
  argv: z.array(z.string()).nullable(),
  env: z.record(z.string(), z.string()),
  environment: z.record(z.string(), z.union([z.string(), z.number()]).nullable()),
  buildId: z.string().nullable(),
  buildModel: z.string().nullable().describe('Name of the model of its engine'),
  build: z.string().nullable().describe('What was built; null if the run is not a build'),
  engineSha256: z.string().nullable(),
  measurement: z.record(z.string(), z.union([z.number(), z.string()]).nullable()).nullable(),
  statistics: z.record(z.string(), statistics),
  values: z.array(z.strictObject({ metric, value: z.number() })).describe('Values of a harness other than trtexec'),
  method: method
    .nullable()
    .describe('How it was measured; null for builds, profiles and failed runs of other harnesses'),
  telemetry: telemetry.nullable().describe('Null if no telemetry was recorded'),
  flags: z.array(flag),
  hints: z.array(z.string()),
  notes: z.array(z.string()),
  attempts: z
    .array(
      z.strictObject({
        attempt: count,
        startedAt: instant,
        endedAt: instant.nullable().describe('Null if the attempt was cut off'),
        outcome: z.enum(OUTCOME_KINDS).nullable(),
        reason: z.string().nullable(),
        evidence: z.string().nullable(),
      }),
    )
    .describe('All attempts of this run'),
  steadiness: z
    .strictObject({
      metric,
      queries: count,
      cvPercent: z.number().describe('Standard deviation divided by the mean'),
      driftPercent: z.number().describe('Change of the median from the first to the last quarter'),
      autocorrelation: z.number().describe('Correlation of consecutive queries'),
      effectiveQueries: z.number().describe('Number of independent queries with the same error of the mean'),
      showsPercent: z.number().describe('The change to detect: see --shows'),
      repeats: count.nullable().describe('Runs per side that detect it nine times in ten; null if no number does'),
      noiseFrom: z
        .enum(['runs', 'queries'])
        .describe('queries: from this run alone, without the noise between runs, so repeats is a minimum'),
      runPercent: z.number().describe('Standard deviation of a run'),
      sweepPercent: numberOrNull.describe('Standard deviation between sweeps beyond run noise'),
    })
    .nullable()
    .describe('Variation of the query times; null without samples'),
  artefacts: z.array(z.strictObject({ name: z.string(), sha256: z.string(), bytes: count })),
  artefactFolder: z.string().nullable(),
  attachments: z.array(attachment.omit({ runId: true })).describe('Files that people attached to it'),
  layers: z.array(layer).nullable(),
});

export type ShownCell = OutputOf<typeof shownCell>;

export type ShownRun = OutputOf<typeof shownRun>;

/** A tool, its command and its use for this run; coarse tools come first. */
const profilerStep = z.strictObject({
  tool: z.enum(['trtexec', 'nsys', 'ncu']),
  state: z.enum(['done', 'next', 'later']),
  says: z.string(),
  bench: z.array(z.string()).describe('Command line of bench for this step'),
});

export const explainOutput = output('bench show --next --json', {
  runId: id,
  label: z.string().nullable(),
  provenance,
  findings: z.array(z.string()),
  next: profilerStep.nullable(),
  ladder: z.array(profilerStep),
});

export type ExplainOutput = OutputOf<typeof explainOutput>;
export type ProfilerStep = ExplainOutput['ladder'][number];

export const attachOutput = output('bench show RUN --attach FILE --json', {
  runId: id,
  attached: z.array(attachment.omit({ runId: true, prunedAt: true })),
});

export type AttachOutput = OutputOf<typeof attachOutput>;
