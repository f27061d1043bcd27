import * as z from 'zod';

import { PERCENTILE_RULES, TIMERS } from './harness.ts';
import { DIRECTIONS, METRIC_IDS } from './metric.ts';
import { FAILURE_REASONS, UNFIT_REASONS } from './outcome.ts';
import { PRECISION_ROUTES, PRECISIONS } from './precision.ts';
import { PROVENANCES } from './provenance.ts';
import { FLAG_EFFECTS, RUN_FLAGS } from './run-flag.ts';
import { RUN_ROLES } from './run.ts';
import { SWEEP_STATES } from './sweep.ts';
import { CLOCK_REASONS } from './telemetry.ts';

/** Pieces that several outputs share. Units stand in the names. */

export const count = z.number().int().min(0);
export const id = z.string().regex(/^[0-9a-f]{32}$/);
export const instant = z.iso.datetime({ precision: 3 }).describe('UTC, ISO 8601');
export const provenance = z.enum(PROVENANCES);
export const metric = z
  .union([z.enum(METRIC_IDS), z.templateLiteral([z.string(), ':', z.enum(DIRECTIONS), ':', z.string()])])
  .describe('One of bench, or NAME:lower|higher:UNIT of another harness');
export const role = z.enum(RUN_ROLES);
export const unit = z.string().describe('ms, qps, s, MiB or %; of another harness what its matrix says');

export const cell = z.strictObject({
  key: id.describe('The same cell has the same key on every night and machine'),
  model: z.string(),
  precision: z.enum([...PRECISIONS, 'unstated']),
  precisionVia: z.enum(PRECISION_ROUTES),
  shapes: z.record(z.string(), z.array(z.number().int())),
  cudaGraph: z.boolean().nullable(),
  dataTransfers: z.boolean().nullable(),
  streams: z.number().int(),
  spinWait: z.boolean().nullable(),
  inputs: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('random') }),
    z.strictObject({ kind: z.literal('files'), sha256ByInput: z.record(z.string(), z.string()) }),
  ]),
  axisFlags: z.record(z.string(), z.string()),
  harness: z
    .strictObject({ name: z.string(), timer: z.enum(TIMERS), metric })
    .describe('Absent where trtexec measures')
    .exactOptional(),
});

export const method = z.strictObject({
  harness: z.string(),
  harnessVersion: z.string().nullable(),
  timer: z.enum(TIMERS),
  inFlight: z.number().nullable().describe('Queries under way at the same time'),
  percentileRule: z.enum(PERCENTILE_RULES),
  transfers: z.boolean().nullable(),
  warmUpRuns: z.number().int().nullable(),
  timedRuns: z.number().int().nullable(),
});

export const reason = z.enum([...FAILURE_REASONS, ...UNFIT_REASONS]).nullable();

export const flag = z.strictObject({
  id: z.enum(RUN_FLAGS),
  effect: z
    .enum(FLAG_EFFECTS)
    .describe(
      'Left out of comparisons (excluded), never a baseline or the best (barred), trusted less, or only named as an explanation',
    ),
  value: z.number().nullable().describe('The number it rests on, in the unit of the evidence'),
  evidence: z.string(),
});

export const evidence = z.strictObject({
  line: count.describe('From 1; 0 when it is not a line of the log'),
  text: z.string(),
  stream: z.enum(['stdout', 'stderr']),
});

export const statistics = z
  .strictObject({
    min: z.number(),
    max: z.number(),
    mean: z.number().nullable(),
    median: z.number(),
    percentiles: z.record(z.string(), z.number()).describe('By percentile: {"99": 0.4175}'),
  })
  .describe('Milliseconds');

const share = z.number().min(0).max(1);

/** Medians are over the samples in which the GPU worked. */
export const telemetry = z.strictObject({
  samples: count.describe('Samples in which the GPU worked'),
  smClockMhz: z.number().nullable(),
  smClockMinMhz: z.number().nullable(),
  memoryClockMhz: z.number().nullable(),
  powerW: z.number().nullable(),
  powerMaxW: z.number().nullable(),
  powerLimitW: z.number().nullable(),
  temperatureMaxC: z.number().nullable(),
  gpuUtilisationPercent: z.number().nullable(),
  memoryUsedMaxMib: z.number().nullable(),
  clockReasons: z
    .strictObject(Object.fromEntries(CLOCK_REASONS.map((held) => [held, share.optional()])))
    .describe('Share of those samples in which a reason held the clock down'),
  pcieGeneration: count.nullable(),
  pcieWidth: count.nullable(),
  otherProcesses: z
    .array(z.strictObject({ pid: z.number().int(), name: z.string(), memoryMib: z.number().nullable() }))
    .describe('On the GPU when the run had ended'),
  hostLoad: z.number().nullable().describe('Load average of one minute for each CPU'),
});

export const sweep = z.strictObject({
  sweepId: id,
  source: z.enum(['run', 'import']),
  name: z.string().nullable(),
  matrix: z.string().nullable(),
  provenance,
  recordingSet: z.string().nullable(),
  state: z.enum(SWEEP_STATES),
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
  commit: z.string().nullable(),
  branch: z.string().nullable(),
  dirty: z.boolean().nullable(),
  seed: count.nullable(),
  toolVersion: z.string(),
  trtexec: z.string().nullable(),
  tensorrt: z.string().nullable(),
  host: z.string().nullable(),
});

export const layer = z.strictObject({
  index: count,
  name: z.string(),
  timeMs: z.number().nullable(),
  averageMs: z.number().nullable(),
  medianMs: z.number().nullable(),
  percentage: z.number().nullable(),
  type: z.string().nullable(),
  tactic: z.string().nullable(),
  precisionIn: z.string().nullable(),
  precisionOut: z.string().nullable(),
  origins: z.array(z.string()).describe('The ONNX nodes that it came from'),
});

export const commonShift = z
  .strictObject({
    percent: z.number(),
    cells: count.describe('Cells that were compared'),
    sharing: count.describe('Those of them that share it'),
    verdict: z
      .enum(['slower', 'faster'])
      .nullable()
      .describe('Null for a shift under 0.5 %; a slower one is a regression by itself'),
    recorded: z
      .array(z.string())
      .describe('What of clocks, power, heat, driver and machine is recorded to differ in the cells that share it'),
  })
  .nullable()
  .describe('A change that at least 80 % of the cells share');

/** One object with its version: the shape of every output. */
export function output<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  return z.strictObject({ schemaVersion: z.literal(1), ...shape }).describe(description);
}

/** The type of what an output's schema describes; nothing in it may be changed. */
export type OutputOf<Schema extends z.ZodType> = Immutable<z.infer<Schema>>;

type Immutable<Value> = { readonly [Key in keyof Value]: Immutable<Value[Key]> };
