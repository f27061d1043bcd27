import * as z from 'zod';

import { errorText } from '../errors.ts';
import { cellSchema, shapesSchema } from '../records/cell.ts';
import { environmentSchema } from '../records/environment.ts';
import { cellHarnessSchema, TIMERS } from '../records/harness.ts';
import { isCustomMetric, isMetric } from '../records/metric.ts';
import { RUN_MARKS } from '../records/outcome.ts';
import { buildSchema, RUN_ROLES, runTrySchema } from '../records/run.ts';
import { idSchema, type Immutable } from '../records/scalars.ts';
import { PROVENANCES } from '../records/sweep.ts';
import { otherProcessSchema } from '../records/telemetry.ts';
import { timeLimitSchema } from '../records/time-limit.ts';
import { withoutSecretEnv, withoutSecrets } from '../text/redact.ts';
import { isRecord } from '../text/unknown-values.ts';
import { requestedSchema } from '../trtexec/run-facts.ts';
import { conversionFailureSchema, variantRecord } from '../records/conversion.ts';

export const RUN_MANIFEST_VERSION = 1;

const cell = cellSchema.extend({
  key: z.string().optional(),
  harness: cellHarnessSchema.extend({ metric: z.string().refine(isMetric) }).exactOptional(),
});

/** The cell as a recorder states it, completed from the command line and the log. */
const looseCellSchema = z.object({
  model: z.string().optional(),
  precision: z.string().optional(),
  shapes: shapesSchema.optional(),
  cudaGraph: z.boolean().optional().catch(undefined),
});

const LONGEST_PATTERN = 200;

const standaloneSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('report'),
    driver: z.string(),
    name: z.string().regex(/^[\w-][\w.-]*$/),
    file: z.string(),
    index: z.number().int().min(0),
    timer: z.enum(TIMERS),
    /** The metric, if only the user stated it. */
    metric: z.string().refine(isCustomMetric).nullable().default(null),
    pattern: z.string().max(LONGEST_PATTERN).nullable().default(null),
  }),
  z.object({
    kind: z.literal('layers'),
    format: z.enum(['trtexec', 'trace', 'csv']),
    /** Number of runs that the times of a trace are summed over. */
    runs: z.number().int().min(1).nullable(),
  }),
]);

/** `run.json` as this program writes it next to the files of each run. */
const runManifestSchema = z.object({
  schemaVersion: z.literal(RUN_MANIFEST_VERSION),
  sweepId: idSchema.nullable().default(null),
  runId: idSchema.nullable().default(null),
  role: z.enum(RUN_ROLES).nullable().default(null),
  /** Index of the run in a log with several runs; null for the only one. */
  logIndex: z.number().int().min(0).nullable().default(null),
  repeat: z.number().int().min(1).nullable().default(null),
  cell: z.union([cell, looseCellSchema]).nullable().default(null),
  requested: requestedSchema.default({}),
  limits: z.object({ minQueries: z.number(), minWarmUpQueries: z.number() }).partial().default({}),
  build: buildSchema
    .extend({
      precision: z.string().nullable().optional(),
      /** Which of several builds of the same key, from 1. */
      number: z.number().int().min(1).optional(),
    })
    .nullable()
    .default(null),
  /** The timing cache at the start of the build; null if it was empty. */
  timingCacheSha256: z.string().nullable().default(null),
  /** Null if bench did not convert the model. */
  variant: variantRecord.nullable().default(null),
  /** Why the model could not be converted; no engine was built then. */
  conversionFailure: conversionFailureSchema.nullable().default(null),
  /** The harness in the form its driver reads; null for trtexec. */
  harness: z
    .object({ driver: z.string(), settings: z.unknown().transform(withoutSecretEnv) })
    .nullable()
    .default(null),
  /** For a standalone report or export: the facts that the user stated at import. */
  lone: standaloneSchema.nullable().default(null),
  // Invalid ids are dropped.
  buildId: idSchema.nullable().default(null).catch(null),
  engineKey: idSchema.nullable().default(null).catch(null),
  engineSha256: z.string().nullable().default(null),
  engineBytes: z.number().int().nullable().default(null),
  argv: z.array(z.string()).nullable().default(null),
  marks: z.array(z.enum(RUN_MARKS)).default([]),
  env: z.record(z.string(), z.string()).default({}).transform(withoutSecrets),
  environment: environmentSchema.partial().default({}),
  provenance: z.enum(PROVENANCES).nullable().default(null),
  recording: z.object({ set: z.string(), id: z.string() }).nullable().default(null),
  exitCode: z.number().int().nullable().default(null),
  signal: z.string().nullable().default(null),
  timedOut: z.boolean().default(false),
  limit: timeLimitSchema.nullable().default(null),
  /** How the neighbor process ended, if it ended first; null otherwise, and without a neighbor. */
  neighborEnded: z.string().nullable().default(null),
  /** Attempt number, from 1, counting interrupted ones. Null: unknown. */
  attempt: z.number().int().min(1).nullable().default(null),
  tries: z.array(runTrySchema).default([]),
  cancelled: z.boolean().default(false),
  logTooLong: z.boolean().default(false),
  startedAt: z.string().nullable().default(null),
  wallS: z.number().nullable().default(null),
  /**
   * Facts about the machine that can only be read during the run. The samples lie in `telemetry.csv`. Null: bench took
   * no samples.
   */
  watched: z
    .object({
      hostLoad: z.number().nullable().default(null),
      hostMemoryMaxMib: z.number().nullable().default(null),
      processMemoryMaxMib: z.number().nullable().default(null),
      otherProcesses: z.array(otherProcessSchema).default([]),
    })
    .nullable()
    .default(null),
  /** Exports that were left out of this copy on purpose. */
  omitted: z.array(z.string()).default([]),
  notes: z.array(z.string()).default([]),
});

export type RunManifest = Immutable<z.infer<typeof runManifestSchema>>;

/**
 * The snake_case form of a recorder script: `{argv, env, exit_code, signal, timed_out, wall_s, started, merged, note,
 * cell}`. Provenance is `recorded` unless stated otherwise.
 */
const recorderManifestSchema = z
  .object({
    argv: z.array(z.string()),
    env: z.record(z.string(), z.string()).default({}).transform(withoutSecrets),
    exit_code: z.number().int().nullable().default(null),
    signal: z.string().nullable().default(null),
    timed_out: z.boolean().default(false),
    wall_s: z.number().nullable().default(null),
    started: z.string().nullable().default(null),
    note: z.string().default(''),
    cell: looseCellSchema.nullable().default(null),
    provenance: z.enum(PROVENANCES).default('recorded'),
  })
  .transform(({ exit_code, timed_out, started, wall_s, note, ...same }): RunManifest => ({
    ...emptyManifest(),
    ...same,
    exitCode: exit_code,
    timedOut: timed_out,
    startedAt: started,
    wallS: wall_s,
    notes: note === '' ? [] : [note],
  }));

export function emptyManifest(): RunManifest {
  return runManifestSchema.parse({ schemaVersion: RUN_MANIFEST_VERSION });
}

/** The content of `run.json`; null with the problem if it is damaged. */
export function parseRunManifest(text: string): { readonly manifest: RunManifest | null; readonly problem: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { manifest: null, problem: `not JSON (${errorText(error)})` };
  }
  const { data = null, error } = (
    isRecord(parsed) && 'schemaVersion' in parsed ? runManifestSchema : recorderManifestSchema
  ).safeParse(parsed);
  const [issue] = error?.issues ?? [];
  return { manifest: data, problem: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}` };
}
