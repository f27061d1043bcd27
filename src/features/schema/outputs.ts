import * as z from 'zod';

import { OUTCOME_KINDS } from '../../records/outcome.ts';
import { PERCENTILE_RULES, TIMERS } from '../../records/harness.ts';
import { DATE_SOURCES } from '../../records/sweep.ts';
import { ab } from '../experiment/output.ts';
import { comparison } from '../compare/output.ts';
import { bisectOutput } from '../bisect/output.ts';
import { attachOutput } from '../attach/output.ts';
import { explainOutput } from '../explain/output.ts';
import { profileOutput } from '../profile/output.ts';
import { accuracyOutput } from '../accuracy/output.ts';
import { pareto, slo } from '../choose/output.ts';
import { makeDatasetOutput } from '../make-dataset/output.ts';
import { doctorOutput } from '../doctor/output.ts';
import { enginesGcOutput, enginesOutput } from '../engines/output.ts';
import { exported, repro } from '../export/output.ts';
import { acknowledgement, checkedSweep } from '../check/output.ts';
import { initOutput } from '../init/output.ts';
import { inspectOutput } from '../inspect/output.ts';
import { makeInputsOutput } from '../make-inputs/output.ts';
import { layers, layersDiff, layersKernels } from '../layers/output.ts';
import { noise } from '../noise/output.ts';
import {
  cell,
  count,
  evidence,
  flag,
  id,
  instant,
  layer,
  output,
  provenance,
  reason,
  role,
  statistics,
  sweep,
  telemetry,
} from '../../records/output-parts.ts';
import { report, reportHtml, serve } from '../report/output.ts';
import { backupOutput, infoOutput, mergeOutput, pruneOutput, rejudgeOutput, verifyOutput } from '../db/output.ts';
import { cancelled, collected, submitted } from '../slurm/output.ts';
import { plannedVariant, quantizeOutput } from '../quantize/output.ts';
import { shownCell, shownRun, shownSweep } from '../show/output.ts';
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
  run: shownSweep,
  report,
  'run-slurm': submitted,
  collect: collected,
  cancel: cancelled,
  trend,
  sweeps,
  cells,
  import: imported,
  baselines,
  'show-cell': shownCell,
  'show-run': shownRun,
  'db-info': infoOutput,
  'db-verify': verifyOutput,
  'db-backup': backupOutput,
  'db-merge': mergeOutput,
  'db-prune': pruneOutput,
  'report-html': reportHtml,
  serve,
} as const;
