import * as z from 'zod';

import { OUTCOME_KINDS } from '../../records/outcome.ts';
import { PERCENTILE_RULES, TIMERS } from '../../records/harness.ts';
import { DATE_SOURCES } from '../../records/sweep.ts';
import { VERDICTS } from '../../records/verdict.ts';
import { ab } from '../experiment/output.ts';
import { comparison } from '../compare/output.ts';
import { bisectOutput } from '../bisect/output.ts';
import { attachment } from '../../artefacts/attachment.ts';
import { attachOutput } from '../attach/output.ts';
import { explainOutput } from '../explain/output.ts';
import { layersKernels, profileOutput } from '../profile/output.ts';
import { accuracyOutput, pareto, slo } from '../choose/output.ts';
import { makeDatasetOutput } from '../make-dataset/output.ts';
import { doctorOutput } from '../doctor/output.ts';
import { enginesGcOutput, enginesOutput } from '../engines/output.ts';
import { exported, repro } from '../export/output.ts';
import { acknowledgement, checkedSweep } from '../check/output.ts';
import { initOutput } from '../init/output.ts';
import { inspectOutput } from '../inspect/output.ts';
import { makeInputsOutput } from '../make-inputs/output.ts';
import { layers, layersDiff } from '../layers/output.ts';
import { noise } from '../noise/output.ts';
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
  provenance,
  reason,
  role,
  statistics,
  sweep,
  telemetry,
} from '../../records/output-parts.ts';
import { report } from '../report/output.ts';
import { backupOutput, infoOutput, mergeOutput, pruneOutput, rejudgeOutput, verifyOutput } from '../db/output.ts';
import { cancelled, collected, submitted } from '../slurm/output.ts';
import { plannedVariant, quantizeOutput } from '../quantize/output.ts';
import { trend } from '../trend/output.ts';
import { why } from '../why/output.ts';

const harnessMethod = z.strictObject({
  harness: z.string(),
  harnessVersion: z.string().nullable(),
  timer: z.enum(TIMERS),
  inFlight: z.number().nullable(),
  percentileRule: z.enum(PERCENTILE_RULES),
  transfers: z.boolean().nullable(),
  warmUpRuns: count.nullable(),
  timedRuns: count.nullable(),
});
const times = statistics.nullable();
const parse = output('bench parse --json', {
  runs: z.array(
    z.strictObject({
      file: z.string(),
      outcome: z.strictObject({ kind: z.enum(OUTCOME_KINDS), reason, evidence: z.array(evidence) }),
      tensorrtVersion: z.string().nullable(),
      gpu: z.string().nullable(),
      options: z.record(z.string(), z.unknown()).describe("What trtexec's banner says it used"),
      throughputQps: z.number().nullable(),
      latencyMs: times,
      enqueueMs: times,
      h2dMs: times,
      gpuComputeMs: times,
      d2hMs: times,
      hostWalltimeS: z.number().nullable(),
      gpuTotalS: z.number().nullable(),
      queries: count.nullable(),
      warmUpQueries: count.nullable(),
      engineMiB: z.number().nullable(),
      buildS: z.number().nullable(),
      contextMiB: z.number().nullable(),
      cvPercent: z.number().nullable(),
      enqueueRatio: z.number().nullable(),
      enqueueClass: z.enum(['free', 'near', 'bound']).nullable(),
      gpuBusy: z.number().nullable(),
      idleGapMs: z.number().nullable(),
      transferBound: z.enum(['h2d', 'd2h']).nullable(),
      itemsPerS: z.number().nullable(),
      telemetry: telemetry.nullable(),
      hints: z.array(z.string()),
      flags: z.array(flag),
      harness: z
        .strictObject({
          method: harnessMethod,
          values: z.array(z.strictObject({ metric: z.string(), value: z.number() })),
        })
        .nullable()
        .describe('Of another harness than trtexec'),
      notes: z.array(z.string()),
      layers: z.array(layer).nullable(),
    }),
  ),
});

const variables = z.record(z.string(), z.string().nullable());

const plannedCommand = { buildRef: id, argv: z.array(z.string()).nullable(), timeoutS: z.number() };
const plan = output('bench plan --json', {
  matrix: z.string(),
  tensorrt: z.string(),
  provenance,
  seed: count,
  repeats: count,
  estimateS: z.number(),
  cells: z.array(cell.extend({ label: z.string(), buildRef: id })),
  variants: z.array(plannedVariant),
  builds: z.array(
    z.strictObject({
      ...plannedCommand,
      label: z.string(),
      variantRef: id.nullable(),
      enginePath: z.string().nullable(),
    }),
  ),
  runs: z.array(
    z.strictObject({
      ...plannedCommand,
      position: count,
      role,
      cellKey: id,
      repeat: count,
      env: variables.describe('Variables that stand on an axis; null: taken away'),
      estimateS: z.number(),
    }),
  ),
  merged: z.array(z.strictObject({ label: z.string(), times: count })),
  notes: z.array(z.string()),
});

const run = output('bench run --json, and bench show SWEEP --json', {
  ...sweep.shape,
  counts: z.strictObject({
    measured: count,
    unfit: count,
    failed: count,
    skipped: count,
    kept: count,
    replaced: count.describe('Of the unfit ones those in whose place another run was measured'),
  }),
  graphGains: z
    .strictObject({
      medianPercent: z.number(),
      pairs: z.array(
        z.strictObject({
          withoutKey: id,
          withKey: id,
          gainPercent: z.number(),
          latencyChangePercent: z
            .number()
            .nullable()
            .describe('Of the median latency: below 0 it answers sooner with the graph'),
          verdict: z.enum(VERDICTS),
          reasons: z.array(z.string()),
        }),
      ),
    })
    .nullable()
    .describe('More queries a second with a CUDA graph, where the sweep has cells both ways'),
  failures: z
    .array(
      z.strictObject({
        runId: id,
        role,
        label: z.string(),
        kind: z.enum(['unfit', 'failed']),
        reason,
        evidence: evidence.nullable().describe('The first line that says why'),
      }),
    )
    .describe('Runs and builds that are no measurements'),
  cells: z.array(
    z.strictObject({
      key: id,
      label: z.string(),
      measured: count,
      metric: metric.describe('What another harness is judged by; of trtexec gpuComputeMs'),
      value: z.number().nullable().describe('Median of that metric over the runs'),
      gpuComputeMs: z.number().nullable().describe('Median over the runs of their medians'),
      latencyMs: z.number().nullable().describe('Median over the runs of their medians'),
      throughputQps: z.number().nullable(),
      throughputFrom: z
        .enum(['counted', 'medianLatency'])
        .describe('medianLatency: one query at a time, of a harness that counts no throughput'),
      itemsPerS: z.number().nullable(),
      p99Ms: z.number().nullable(),
      spreadPercent: z.number().nullable(),
      precisionShare: z
        .strictObject({
          asked: z.string(),
          timeShare: z.number().nullable().describe('Null without a profile of the cell'),
          layerShare: z.number(),
          isReal: z.boolean(),
        })
        .nullable()
        .describe('How much of the engine computes in the precision of the cell, from 0 to 1'),
      noEngine: reason.describe('Why the build of its engine failed'),
      others: z.array(z.strictObject({ role, kind: z.enum(['unfit', 'failed']), reason, times: count })),
      flags: z.array(flag.omit({ value: true }).extend({ times: count.describe('Runs that have it') })),
    }),
  ),
});

const sweeps = output('bench sweeps --json', {
  sweeps: z.array(
    sweep.extend({
      cells: count,
      runs: count.describe('Without builds'),
      measured: count,
      builds: count,
      built: count,
      flagged: count.describe('Runs that are left out or trusted less for what is flagged'),
    }),
  ),
});

const cells = output('bench cells --json', {
  cells: z.array(
    cell.extend({
      label: z.string(),
      measured: count,
      sweeps: count,
      lastAt: instant.nullable(),
      provenances: z.array(provenance),
    }),
  ),
});

const imported = output('bench import --json', {
  sweeps: z.array(
    z.strictObject({
      sweepId: id,
      name: z.string().nullable(),
      provenance,
      stored: count,
      alreadyStored: count,
      outcomes: z.strictObject({ measured: count, built: count, unfit: count, failed: count }),
      startedAt: instant.nullable(),
      datesFrom: z.array(z.enum(DATE_SOURCES)),
    }),
  ),
});

const baseline = z.strictObject({ name: z.string(), sweepId: id, reason: z.string().nullable(), createdAt: instant });
const baselines = output('bench baseline list|set|rm --json: those that this is about', {
  baselines: z.array(baseline),
});
const outcome = z.strictObject({ kind: z.enum(OUTCOME_KINDS), reason: reason.optional(), evidence: z.array(evidence) });
const listedRun = z.strictObject({
  runId: id,
  sweepId: id,
  role,
  repeat: count,
  startedAt: instant.nullable(),
  outcome,
});
const showCell = output('bench show CELL --json', {
  cell,
  runs: z.array(listedRun),
  mixedEngines: z
    .array(z.strictObject({ sweepId: id, paths: z.array(z.string()) }))
    .describe('Imported sweeps in which its runs loaded different engine files'),
});
const showRun = output('bench show RUN --json', {
  ...listedRun.shape,
  cellKey: id.nullable(),
  cell: cell.nullable(),
  provenance,
  wallS: z.number().nullable(),
  exitCode: z.number().int().nullable(),
  signal: z.string().nullable(),
  timedOut: z.boolean(),
  argv: z.array(z.string()).nullable(),
  env: z.record(z.string(), z.string()),
  environment: z.record(z.string(), z.union([z.string(), z.number()]).nullable()),
  buildId: z.string().nullable(),
  buildModel: z.string().nullable().describe('Name of the model that its engine was built of'),
  build: z.string().nullable().describe('What was built; null for another run than a build'),
  cellEngines: z
    .array(z.string())
    .nullable()
    .describe('Where imported runs of its cell and sweep loaded different engine files: these'),
  engineSha256: z.string().nullable(),
  measurement: z.record(z.string(), z.union([z.number(), z.string()]).nullable()).nullable(),
  statistics: z.record(z.string(), statistics),
  values: z
    .array(z.strictObject({ metric, value: z.number() }))
    .describe('The numbers of another harness than trtexec'),
  method: method
    .nullable()
    .describe('How it was measured; null for what is no timed run, or failed in another harness'),
  telemetry: telemetry.nullable().describe('Null when nobody watched the machine'),
  flags: z.array(flag),
  hints: z.array(z.string()),
  notes: z.array(z.string()),
  attempts: z
    .array(
      z.strictObject({
        attempt: count,
        startedAt: instant,
        endedAt: instant.nullable().describe('Null for a start that was cut off'),
        outcome: z.enum(OUTCOME_KINDS).nullable(),
        reason: z.string().nullable(),
        evidence: z.string().nullable(),
      }),
    )
    .describe('Every start of it'),
  artefacts: z.array(z.strictObject({ name: z.string(), sha256: z.string(), bytes: count })),
  artefactFolder: z.string().nullable(),
  attachments: z.array(attachment.omit({ runId: true })).describe('Files that people put beside it'),
  layers: z.array(layer).nullable(),
});

const reportHtml = output('bench report --html FILE --json', {
  file: z.string().describe('As it was named'),
  bytes: count,
  provenance,
  cells: count,
  sweeps: count,
});
const serve = output('bench serve --json', { url: z.string() });

/** Every `--json` output by the name that `bench schema` knows it by. */
export const OUTPUTS = {
  compare: comparison,
  check: checkedSweep,
  ack: acknowledgement,
  noise,
  accuracy: accuracyOutput,
  pareto,
  slo,
  layers,
  'layers-diff': layersDiff,
  'layers-kernels': layersKernels,
  profile: profileOutput,
  explain: explainOutput,
  attach: attachOutput,
  why,
  repro,
  export: exported,
  rejudge: rejudgeOutput,
  ab,
  bisect: bisectOutput,
  doctor: doctorOutput,
  engines: enginesOutput,
  'engines-gc': enginesGcOutput,
  init: initOutput,
  inspect: inspectOutput,
  'make-inputs': makeInputsOutput,
  'make-dataset': makeDatasetOutput,
  parse,
  plan,
  quantize: quantizeOutput,
  run,
  report,
  'run-slurm': submitted,
  collect: collected,
  cancel: cancelled,
  trend,
  sweeps,
  cells,
  import: imported,
  baselines,
  'show-cell': showCell,
  'show-run': showRun,
  'db-info': infoOutput,
  'db-verify': verifyOutput,
  'db-backup': backupOutput,
  'db-merge': mergeOutput,
  'db-prune': pruneOutput,
  'report-html': reportHtml,
  serve,
} as const;
