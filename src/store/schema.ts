import type { NotNull } from 'drizzle-orm';
import { blob, customType, index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import * as z from 'zod';

import { attachment } from '../records/attachment.ts';
import { StoreError } from '../errors.ts';
import type { BoundBy } from '../records/bound.ts';
import { cellInputsSchema, cellSchema, shapesSchema } from '../records/cell.ts';
import type { Cell, CellInputs, Shapes } from '../records/cell.ts';
import { environmentSchema } from '../records/environment.ts';
import { cellHarnessSchema, methodSchema, percentilesSchema } from '../records/harness.ts';
import type { CellHarness, TimeStatistics } from '../records/harness.ts';
import type { ReadMetricId } from '../records/metric.ts';
import { evidenceSchema, OUTCOME_KINDS, FLAG_EFFECTS, type RunFlagId } from '../records/outcome.ts';
import { buildSchema, RUN_ROLES, runTrySchema } from '../records/run.ts';
import { textByName, type BuildId, type CellKey, type RunId, type SweepId } from '../records/scalars.ts';
import { PROVENANCES, sweepSchema } from '../records/sweep.ts';
import { type RunTelemetry, telemetrySchema } from '../records/telemetry.ts';
import { printable } from '../text/printable.ts';
import type { Banner } from '../trtexec/log/printed-facts.ts';

/**
 * A JSON column with one schema. It is checked on reading, because SQLite data is untrusted. `what` names it: `shapes
 * of a cell`.
 */
export function json<Value>(name: string, schema: z.ZodType<Value>, what: string) {
  return customType<{ data: Value; driverData: string }>({
    dataType: () => 'text',
    toDriver: (value) => JSON.stringify(value),
    fromDriver: (stored) => {
      try {
        return schema.parse(JSON.parse(stored));
      } catch (cause) {
        const damage = `${printable(stored)} are no ${what}; \`bench db verify\` shows the details`;
        throw new StoreError(`the store is damaged: ${damage}`, { cause });
      }
    },
  })(name);
}

type BuilderOf<Data> = ReturnType<ReturnType<typeof customType<{ data: Data }>>>;
type ColumnOf<Value> = null extends Value ? BuilderOf<NonNullable<Value>> : NotNull<BuilderOf<Value>>;
type Fields = Readonly<Record<string, z.ZodType>>;

/**
 * Columns for the texts and numbers of a record, in the order of its fields and with their names in snake case. Other
 * fields, keys and references are stated after it. A new field of such a record needs a migration.
 */
export function columnsOf<Own extends Fields>(fields: Own): { [Name in keyof Own]: ColumnOf<z.infer<Own[Name]>> };
export function columnsOf(fields: Fields): object {
  const columns = Object.entries(fields).map(([field, schema]) => {
    const takes = (value: unknown): boolean => schema.safeParse(value).success;
    const type = takes(0.5) ? 'real' : takes(1) ? 'integer' : 'text';
    const name = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const column = customType({ dataType: () => type })(name);
    return [field, takes(null) ? column : column.notNull()] as const;
  });
  return Object.fromEntries(columns);
}

/**
 * The schema of the store, one SQLite file. Numbers are REAL in the unit of their name; times are UTC in ISO 8601.
 * Every ID is a content hash or 128 random bits, so that stores can be merged. After a change here, run `npm run
 * migration`.
 */

export const sweeps = sqliteTable(
  'sweeps',
  {
    ...columnsOf(sweepSchema.shape),
    sweepId: text('sweep_id').$type<SweepId>().primaryKey(),
    commit: text('git_commit'),
    branch: text('git_branch'),
    dirty: integer('git_dirty', { mode: 'boolean' }),
    seed: integer('seed'),
    /** The whole plan as JSON, for `--resume`. */
    plan: text('plan'),
  },
  (table) => [
    index('sweeps_by_commit').on(table.commit),
    index('sweeps_by_start').on(table.startedAt),
    index('sweeps_by_series').on(table.branch, table.matrix, table.provenance, table.startedAt),
  ],
);

export const ofSweep = (name = 'sweep_id') =>
  text(name)
    .$type<SweepId>()
    .notNull()
    .references(() => sweeps.sweepId, { onDelete: 'cascade' });

export const ofCell = () =>
  text('cell_key')
    .$type<CellKey>()
    .references(() => cells.cellKey);

const ofRun = () =>
  text('run_id')
    .$type<RunId>()
    .notNull()
    .references(() => runs.runId, { onDelete: 'cascade' });

/**
 * Orders sweeps without a date; strictly increasing. A separate table, because a column after `plan` is slow to read.
 */
export const sweepImports = sqliteTable('sweep_imports', {
  sweepId: ofSweep().primaryKey(),
  importedAt: text('imported_at').notNull(),
});

export const environments = sqliteTable('environments', {
  environmentId: text('environment_id').primaryKey(),
  ...columnsOf(environmentSchema.shape),
});

const UNSTATED_SWITCH = 2;

/** 0 off, 1 on, 2 if an excerpt of a log does not state it: the column is NOT NULL in stores of older versions. */
const statedSwitch = customType<{ data: boolean | null; driverData: number }>({
  dataType: () => 'integer',
  toDriver: (value) => (value === null ? UNSTATED_SWITCH : Number(value)),
  fromDriver: (stored) => (stored === UNSTATED_SWITCH ? null : stored === 1),
});

const texts = z.array(z.string());
const { clockReasons, otherProcesses } = telemetrySchema.shape;

export const cells = sqliteTable('cells', {
  ...columnsOf(cellSchema.shape),
  cellKey: text('cell_key').$type<CellKey>().primaryKey(),
  keyVersion: integer('key_version').notNull(),
  shapes: json<Shapes>('shapes', shapesSchema, 'shapes of a cell').notNull(),
  cudaGraph: statedSwitch('cuda_graph').notNull(),
  dataTransfers: statedSwitch('data_transfers').notNull(),
  spinWait: statedSwitch('spin_wait').notNull(),
  inputs: json<CellInputs>('inputs', cellInputsSchema, 'inputs of a cell').notNull(),
  axisFlags: json<Cell['axisFlags']>('axis_flags', textByName, 'flags of a cell').notNull(),
  harness: json<CellHarness>('harness', cellHarnessSchema, 'facts of a harness'),
});

/** Planned cells of a sweep, which include cells without runs. */
export const sweepCells = sqliteTable(
  'sweep_cells',
  {
    sweepId: ofSweep(),
    cellKey: ofCell().notNull(),
    engineKey: text('engine_key'),
    repeats: integer('repeats').notNull(),
  },
  (table) => [primaryKey({ columns: [table.sweepId, table.cellKey] })],
);

/** One built engine. Builds of the same key differ by chance, and their IDs distinguish them. */
export const builds = sqliteTable(
  'builds',
  {
    buildId: text('build_id').$type<BuildId>().primaryKey(),
    engineKey: text('engine_key'),
    ...columnsOf(buildSchema.shape),
    flags: json<readonly string[]>('flags', texts, 'build flags').notNull(),
    engineSha256: text('engine_sha256'),
    engineBytes: integer('engine_bytes'),
    engineMib: real('engine_mib'),
    buildS: real('build_s'),
    /** Peak memory of TensorRT's allocators on the GPU. */
    peakMemoryMib: real('peak_memory_mib'),
  },
  (table) => [index('builds_by_model').on(table.model)],
);

/** Command line and reported options. They are equal in every sweep and therefore stored once. */
export const invocations = sqliteTable('invocations', {
  invocationId: text('invocation_id').primaryKey(),
  /** Null for a bare log. */
  argv: json<readonly string[]>('argv', texts, 'arguments'),
  /** The allow-listed environment variables that were set. */
  env: json<Readonly<Record<string, string>>>('env', textByName, 'variables of an environment').notNull(),
  /** The options banner of trtexec; for a bare log also the options of its command line. */
  banner: json<Banner>('banner', z.record(z.string(), textByName), 'sections of a banner').notNull(),
});

export const runs = sqliteTable(
  'runs',
  {
    runId: text('run_id').$type<RunId>().primaryKey(),
    sweepId: ofSweep(),
    role: text('role', { enum: RUN_ROLES }).notNull(),
    cellKey: ofCell(),
    repeat: integer('repeat').notNull(),
    buildId: text('build_id').$type<BuildId>(),
    engineKey: text('engine_key'),
    engineSha256: text('engine_sha256'),
    provenance: text('provenance', { enum: PROVENANCES }).notNull(),
    environmentId: text('environment_id')
      .notNull()
      .references(() => environments.environmentId),
    outcome: text('outcome', { enum: OUTCOME_KINDS }).notNull(),
    reason: text('reason'),
    startedAt: text('started_at'),
    wallS: real('wall_s'),
    exitCode: integer('exit_code'),
    signal: text('signal'),
    timedOut: integer('timed_out', { mode: 'boolean' }).notNull(),
    cancelled: integer('cancelled', { mode: 'boolean' }).notNull(),
    invocationId: text('invocation_id')
      .notNull()
      .references(() => invocations.invocationId),
    notes: json<readonly string[]>('notes', texts, 'notes').notNull(),
    artefactFolder: text('artefact_folder'),
  },
  (table) => [
    index('runs_by_sweep').on(table.sweepId),
    index('runs_by_cell').on(table.cellKey, table.startedAt),
    index('runs_by_build').on(table.buildId, table.role),
  ],
);

export const measurements = sqliteTable('measurements', {
  runId: ofRun().primaryKey(),
  throughputQps: real('throughput_qps').notNull(),
  hostWalltimeS: real('host_walltime_s').notNull(),
  gpuTotalS: real('gpu_total_s'),
  queries: integer('queries'),
  warmUpQueries: integer('warm_up_queries'),
  cvPercent: real('cv_percent'),
  enqueueRatio: real('enqueue_ratio'),
  gpuBusy: real('gpu_busy'),
  /** Robust center of the samples of the run, for comparisons; null without samples, or if they have two levels. */
  gpuComputeCentreMs: real('gpu_compute_centre_ms'),
  latencyCentreMs: real('latency_centre_ms'),
  contextMemoryMib: real('context_memory_mib'),
  itemsPerS: real('items_per_s'),
  boundBy: text('bound_by').$type<BoundBy>(),
});

/** One line of the performance summary: `latency`, `enqueue`, `h2d`, `gpuCompute`, `d2h`. */
export const timeStatistics = sqliteTable(
  'time_statistics',
  {
    runId: ofRun(),
    metric: text('metric').notNull(),
    minMs: real('min_ms').notNull(),
    maxMs: real('max_ms').notNull(),
    meanMs: real('mean_ms'),
    medianMs: real('median_ms').notNull(),
    percentiles: json<TimeStatistics['percentiles']>('percentiles', percentilesSchema, 'percentiles').notNull(),
  },
  (table) => [primaryKey({ columns: [table.runId, table.metric] })],
);

/** Method of a run by another harness. The method of trtexec follows from its options. */
export const runMethods = sqliteTable('run_methods', {
  runId: ofRun().primaryKey(),
  ...columnsOf(methodSchema.shape),
  transfers: integer('transfers', { mode: 'boolean' }),
});

/** Values of metrics that bench does not define. The ID of the metric contains unit and direction. */
export const runValues = sqliteTable(
  'run_values',
  {
    runId: ofRun(),
    metric: text('metric').$type<ReadMetricId>().notNull(),
    position: integer('position').notNull(),
    value: real('value').notNull(),
  },
  (table) => [primaryKey({ columns: [table.runId, table.metric] })],
);

/** Every query of a run, bit-exact: see `blob-codecs.ts`. */
export const samples = sqliteTable('samples', {
  runId: ofRun().primaryKey(),
  count: integer('count').notNull(),
  data: blob('data', { mode: 'buffer' }).notNull(),
});

/** Layer times from a profile run: JSON, compressed with zstd. */
export const layerProfiles = sqliteTable('layer_profiles', {
  runId: ofRun().primaryKey(),
  iterations: integer('iterations'),
  layerCount: integer('layer_count').notNull(),
  data: blob('data', { mode: 'buffer' }).notNull(),
});

export const runTelemetry = sqliteTable('run_telemetry', {
  runId: ofRun().primaryKey(),
  ...columnsOf(telemetrySchema.shape),
  clockReasons: json<RunTelemetry['clockReasons']>('clock_reasons', clockReasons, 'clock reasons').notNull(),
  otherProcesses: json<RunTelemetry['otherProcesses']>('other_processes', otherProcesses, 'processes').notNull(),
});

export const runFlags = sqliteTable(
  'run_flags',
  {
    runId: ofRun(),
    flag: text('flag').$type<RunFlagId>().notNull(),
    effect: text('effect', { enum: FLAG_EFFECTS }).notNull(),
    value: real('value'),
    evidence: text('evidence').notNull(),
  },
  (table) => [primaryKey({ columns: [table.runId, table.flag] }), index('run_flags_by_flag').on(table.flag)],
);

/** Hints of trtexec by ID, for filters. Some have a number: see `trtexec/log/hints.ts`. */
export const runHints = sqliteTable(
  'run_hints',
  { runId: ofRun(), hint: text('hint').notNull(), value: real('value') },
  (table) => [primaryKey({ columns: [table.runId, table.hint] }), index('run_hints_by_hint').on(table.hint)],
);

/** The lines that show why an outcome is not `measured`. */
export const runEvidence = sqliteTable(
  'run_evidence',
  { ...columnsOf(evidenceSchema.shape), runId: ofRun(), position: integer('position').notNull() },
  (table) => [primaryKey({ columns: [table.runId, table.position] })],
);

export const artefacts = sqliteTable(
  'artefacts',
  { runId: ofRun(), name: text('name').notNull(), sha256: text('sha256').notNull(), bytes: integer('bytes').notNull() },
  (table) => [primaryKey({ columns: [table.runId, table.name] })],
);

/** Files that people attached to a run, such as captures of Nsight Systems. No statistic uses them. */
export const attachments = sqliteTable('attachments', { ...columnsOf(attachment.shape), runId: ofRun() }, (table) => [
  primaryKey({ columns: [table.runId, table.name] }),
]);

/** Data of a run that `bench db prune` removed. Its summaries stay. */
export const prunedRuns = sqliteTable('pruned_runs', {
  runId: ofRun().primaryKey(),
  prunedAt: text('pruned_at').notNull(),
  /** True if the run had samples and they were removed. */
  samples: integer('samples', { mode: 'boolean' }).notNull(),
  layers: integer('layers', { mode: 'boolean' }).notNull(),
  artefacts: integer('artefacts', { mode: 'boolean' }).notNull(),
});

export const attempts = sqliteTable(
  'attempts',
  {
    ...columnsOf(runTrySchema.shape),
    runId: text('run_id').$type<RunId>().notNull(),
    sweepId: ofSweep(),
    endedAt: text('ended_at'),
    outcome: text('outcome', { enum: OUTCOME_KINDS }),
  },
  (table) => [primaryKey({ columns: [table.runId, table.attempt] })],
);
