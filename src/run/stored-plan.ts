import * as z from 'zod';

import { cellSchema } from '../records/cell.ts';
import { CONVERTERS } from '../variants/conversion.ts';
import { PRECISIONS } from '../records/precision.ts';
import { RUN_MARKS } from '../records/run-flag.ts';
import { NO_PHASE_LIMITS } from '../records/time-limit.ts';
import { MATRIX_DEFAULTS } from '../matrix/schema/defaults.ts';
import type { StoredPlan } from './run-sweep.ts';

const shapes = z.record(z.string(), z.array(z.number()).readonly()).readonly();
const cell = cellSchema.extend({ key: z.string() });

const variant = z.object({
  variantRef: z.string(),
  label: z.string(),
  by: z.enum(CONVERTERS),
  precision: z.enum(PRECISIONS),
  onnxPath: z.string(),
  opTypes: z.array(z.string()),
  calibration: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('random'), seed: z.number(), samples: z.number(), shapes }),
      z.object({ kind: z.literal('file'), path: z.string(), shapes }),
    ])
    .nullable(),
  args: z.array(z.string()),
  timeoutS: z.number(),
});

const variables = z.record(z.string(), z.string().nullable());
const harness = z.object({
  driver: z.string(),
  settings: z.unknown(),
  argv: z.array(z.string()),
  cwd: z.string().nullable(),
  env: variables,
  resultFiles: z.array(z.string()),
});

const limit = z.number().nullable();
/** Plans of an older bench have only a limit of the whole. */
const limits = z
  .object({ firstOutputS: limit, loadS: limit, timedPartS: limit, endS: limit, wholeS: limit })
  .default({ ...NO_PHASE_LIMITS, wholeS: null });

const planSchema = z.object({
  plan: z.object({
    schemaVersion: z.literal(1),
    matrix: z.string(),
    tensorrt: z.string(),
    seed: z.number(),
    repeats: z.number(),
    cells: z.array(z.object({ cell, label: z.string(), buildRef: z.string() })),
    variants: z.array(variant).default([]),
    builds: z.array(
      z.object({
        variantRef: z.string().nullable().default(null),
        buildRef: z.string(),
        model: z.string(),
        precision: z.string().default('unstated'),
        label: z.string(),
        number: z.number().default(1),
        of: z.number().default(1),
        isFrozen: z.boolean().default(false),
        timingCachePath: z.string().nullable().default(null),
        forcesTimingCache: z.boolean().default(false),
        onnxPath: z.string().nullable(),
        enginePath: z.string().nullable(),
        flags: z.array(z.string()),
        args: z.array(z.string()),
        timeoutS: z.number(),
        limits,
        notes: z.array(z.string()).default([]),
      }),
    ),
    runs: z.array(
      z.object({
        role: z.enum(['timed', 'profile']),
        cellKey: z.string(),
        buildRef: z.string(),
        harness: harness.nullable().default(null),
        env: variables.default({}),
        marks: z.array(z.enum(RUN_MARKS)).default([]),
        repeat: z.number(),
        args: z.array(z.string()),
        timeoutS: z.number(),
        limits,
        requested: z.object({
          cudaGraph: z.boolean(),
          dataTransfers: z.boolean(),
          spinWait: z.boolean(),
          streams: z.number(),
          shapes,
        }),
        minQueries: z.number(),
        minWarmUpQueries: z.number(),
        estimateS: z.number(),
        notes: z.array(z.string()).default([]),
      }),
    ),
    notes: z.array(z.string()),
    retries: z.object({ times: z.number(), waitS: z.number() }).default({ ...MATRIX_DEFAULTS.retries }),
  }),
  program: z.object({
    trtexec: z.string().nullable(),
    trtexecSha256: z.string().nullable().default(null),
    replayFolder: z.string().nullable(),
    python: z.string().nullable().default(null),
  }),
  matrix: z.object({ file: z.string(), identity: z.string() }).nullable().default(null),
  telemetry: z.boolean().default(true),
  more: z
    .object({
      untilSurePercent: z.number().nullable(),
      budgetS: z.number().nullable(),
      confirm: z.boolean(),
      maxRepeats: z.number(),
      baseSweepIds: z.array(z.string()),
      baseIs: z.enum(['together', 'newestOfCell']).default('together'),
    })
    .nullable()
    .default(null),
  lockClocks: z
    .union([z.enum(['base', 'max']), z.number()])
    .nullable()
    .default(null),
  gpus: z
    .object({ uuids: z.array(z.string()), cells: z.record(z.string(), z.string()) })
    .nullable()
    .default(null),
  coolDown: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('pause'), seconds: z.number() }),
      z.object({ kind: z.literal('temperature'), maxC: z.number() }),
    ])
    .nullable()
    .default(null),
  numa: z.union([z.enum(['auto', 'off']), z.number()]).default('off'),
  slurmRun: z.string().nullable().default(null),
  experiment: z
    .object({
      name: z.string(),
      variables: z.record(z.string(), z.string()),
      before: z.record(z.string(), z.array(z.string().nullable())),
      significantPercent: z.number(),
      metric: z.string().nullable(),
      marks: z.array(z.enum(RUN_MARKS)),
      pairs: z.array(z.object({ a: z.string(), b: z.string() })),
      notes: z.array(z.string()),
    })
    .nullable()
    .default(null),
});

/** The plan as it was stored; null when it is not one of this version. */
export function readStoredPlan(text: string | null): StoredPlan | null {
  if (text === null) return null;
  try {
    return planSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
