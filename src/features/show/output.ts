import * as z from 'zod';

import { cellBoundSchema } from '../../records/bound.ts';
import { OUTCOME_KINDS, RUN_FLAGS } from '../../records/outcome.ts';
import * as part from '../../records/output-parts.ts';
import { numberOrNull } from '../../records/scalars.ts';
import { attachment } from '../../records/attachment.ts';

const reasoned = { reason: part.reason.optional(), evidence: z.array(part.evidence) };
const outcome = z.strictObject({ kind: z.enum(OUTCOME_KINDS), ...reasoned });
const ids = { runId: part.id, sweepId: part.id, role: part.role };
const listedRun = z.strictObject({ ...ids, repeat: part.count, startedAt: part.instant.nullable(), outcome });
export const shownCell = part.output('bench show CELL --json', {
  cell: part.cell,
  bound: cellBoundSchema.describe('What limits throughput in the newest sweep that measured it; null where not known'),
  runs: z.array(
    listedRun.extend({
      ineligible: z.array(z.enum(RUN_FLAGS)).describe('Flags because of which the run is no measurement of its cell'),
      gpuComputeMs: numberOrNull.describe('Median; null if nothing was measured'),
      throughputQps: numberOrNull,
      value: numberOrNull.describe('Value in the metric of its cell, for a harness other than trtexec'),
    }),
  ),
  differingBuilds: z.array(z.string()).describe('Builds of the newest sweep with other layers than the first'),
  latencyGaps: z
    .array(
      z.strictObject({
        trtexecKey: part.id,
        trtexecMs: z.number(),
        hasTransfers: z.boolean().describe('Whether the latency of trtexec includes copies'),
        applicationKey: part.id,
        metric: part.metric,
        applicationMs: z.number(),
        gapMs: z.number().describe('Time that trtexec does not measure: decoding, queues, pre- and postprocessing'),
        otherLabel: z.string().describe('Label of the compared cell'),
      }),
    )
    .describe('Latencies of other harnesses for the same model, precision and shapes; medians of the newest sweeps'),
});
export const shownRun = part.output('bench show RUN --json', {
  ...listedRun.shape,
  bound: cellBoundSchema,
  cellKey: part.id.nullable(),
  cell: part.cell.nullable(),
  provenance: part.provenance,
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
  statistics: z.record(z.string(), part.statistics),
  values: z
    .array(z.strictObject({ metric: part.metric, value: z.number() }))
    .describe('Values of a harness other than trtexec, and the load time of the engine'),
  method: part.method
    .nullable()
    .describe('How it was measured; null for builds, profiles and failed runs of other harnesses'),
  telemetry: part.telemetry.nullable().describe('Null if no telemetry was recorded'),
  flags: z.array(part.flag),
  hints: z.array(z.string()),
  notes: z.array(z.string()),
  attempts: z
    .array(
      z.strictObject({
        attempt: part.count,
        startedAt: part.instant,
        endedAt: part.instant.nullable().describe('Null if the attempt was cut off'),
        outcome: z.enum(OUTCOME_KINDS).nullable(),
        reason: z.string().nullable(),
        evidence: z.string().nullable(),
      }),
    )
    .describe('All attempts of this run'),
  steadiness: z
    .strictObject({
      metric: part.metric,
      queries: part.count,
      cvPercent: z.number().describe('Standard deviation divided by the mean'),
      driftPercent: z.number().describe('Change of the median from the first to the last quarter'),
      autocorrelation: z.number().describe('Correlation of consecutive queries'),
      effectiveQueries: z.number().describe('Number of independent queries with the same error of the mean'),
      showsPercent: z.number().describe('The change to detect: see --shows'),
      repeats: part.count.nullable().describe('Runs per side that detect it nine times in ten; null if no number does'),
      noiseFrom: z
        .enum(['runs', 'queries'])
        .describe('queries: from this run alone, without the noise between runs, so repeats is a minimum'),
      runPercent: z.number().describe('Standard deviation of a run'),
      sweepPercent: numberOrNull.describe('Standard deviation between sweeps beyond run noise'),
    })
    .nullable()
    .describe('Variation of the query times; null without samples'),
  artefacts: z.array(z.strictObject({ name: z.string(), sha256: z.string(), bytes: part.count })),
  artefactFolder: z.string().nullable(),
  prunedAt: part.instant.nullable().describe('When its artefacts were pruned'),
  attachments: z.array(attachment.omit({ runId: true })).describe('Files that people attached to it'),
  layers: z.array(part.layer).nullable(),
});

export type ShownCell = part.OutputOf<typeof shownCell>;

export type ShownRun = part.OutputOf<typeof shownRun>;

/** A tool, its command and its use for this run; coarse tools come first. */
const profilerStep = z.strictObject({
  tool: z.enum(['trtexec', 'nsys', 'ncu']),
  state: z.enum(['done', 'next', 'later']),
  says: z.string(),
  bench: z.array(z.string()).describe('Command line of bench for this step'),
});

const explained = { runId: part.id, label: z.string().nullable(), provenance: part.provenance };
const steps = { next: profilerStep.nullable(), ladder: z.array(profilerStep) };

export const explainOutput = part.output('bench show --next --json', {
  ...explained,
  findings: z.array(z.string()),
  ...steps,
});

export type ExplainOutput = part.OutputOf<typeof explainOutput>;
export type ProfilerStep = ExplainOutput['ladder'][number];

export const attachOutput = part.output('bench show RUN --attach FILE --json', {
  runId: part.id,
  attached: z.array(attachment.omit({ runId: true, prunedAt: true })),
});

export type AttachOutput = part.OutputOf<typeof attachOutput>;
