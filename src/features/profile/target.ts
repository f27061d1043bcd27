import * as z from 'zod';

import { enginesFolderOf } from '../../files/layout.ts';
import type { Io } from '../../cli/io.ts';
import { type CachedEngine, EngineCache } from '../../engines/engine-cache.ts';
import { UsageError } from '../../errors.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { type OutputOf, count, id, output } from '../../records/output-parts.ts';
import type { Plan, PlannedBuild, PlannedRun } from '../../records/plan.ts';
import type { Sweep } from '../../records/sweep.ts';
import { type StoredPlan, readStoredPlan } from '../../run/stored-plan.ts';
import { namedCell, onlyCell } from '../../selection/by-name.ts';
import { allCells } from '../../store/cells.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { engineKeysOf } from '../../store/runs/runs.ts';
import { sweepsOfCell } from '../../store/sweeps/find-sweeps.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { cellLabel } from '../../records/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import {
  CAPTURED_DLA_QUERIES,
  CAPTURED_QUERIES,
  type CaptureRequest,
  type NsysDialect,
  captureArgs,
  exportArgs,
  fileName,
  shownBuildArgs,
} from '../../tools/nsys/nsys-args.ts';
import { captured } from '../layers/index.ts';
import { type Prepared, prepare, readMatrix } from '../plan/index.ts';
import type { ProfileOptions } from './command.ts';

/** A cell with its build and its timed command line. */
export interface CaptureTarget {
  readonly cell: KeyedCell;
  readonly build: PlannedBuild;
  readonly run: PlannedRun;
  readonly plan: Plan;
  /** The newest sweep that measured the cell and has a plan; null when there is none. */
  readonly measured: { readonly sweep: Sweep; readonly stored: StoredPlan } | null;
  /** From the named matrix; null for a cell of the store. */
  readonly prepared: Prepared | null;
}

const SEARCHED_SWEEPS = 20;

export async function captureTarget(
  name: string | undefined,
  store: OpenStore | null,
  options: ProfileOptions,
  io: Io,
): Promise<CaptureTarget> {
  if (options.matrix !== undefined) return ofMatrix(name, options.matrix, store, options, io);
  if (name === undefined) {
    throw new UsageError('name a cell: bench profile CELL --nsys; `bench ls cells` lists the cells');
  }
  if (store === null) {
    throw new UsageError('there is no store here: name the matrix of the cell with --matrix FILE');
  }
  const cell = namedCell(allCells(store.db), name);
  const measured = newestPlanned(store.db, cell);
  if (measured === null) {
    throw new UsageError(
      `${printable(cellLabel(cell))} was imported, so its build is unknown: name its matrix with --matrix FILE`,
    );
  }
  return { ...ofPlan(measured.stored.plan, cell), measured, prepared: null };
}

async function ofMatrix(
  name: string | undefined,
  path: string,
  store: OpenStore | null,
  { tensorrt, trtexec }: ProfileOptions,
  io: Io,
): Promise<CaptureTarget> {
  const cells = readMatrix(path, io).cells.map(({ cell }) => cell);
  const cell = name === undefined ? onlyCell(cells, `${printable(path)} has`, cells) : namedCell(cells, name);
  const stated = {
    filter: `key=${cell.key}`,
    repeats: 1,
    builds: 1,
    profile: false,
    ...defined({ tensorrt, trtexec }),
  };
  const prepared = await prepare(path, stated, 'models maybe later', io);
  const measured = store === null ? null : newestPlanned(store.db, cell);
  return { ...ofPlan(prepared.plan, cell), measured, prepared };
}

function newestPlanned(db: StoreDatabase, { key }: KeyedCell): CaptureTarget['measured'] {
  for (const sweep of sweepsOfCell(db, key, SEARCHED_SWEEPS)) {
    const stored = readStoredPlan(planOf(db, sweep.sweepId));
    if (stored?.plan.cells.some(({ cell }) => cell.key === key) === true) return { sweep, stored };
  }
  return null;
}

function ofPlan(plan: Plan, { key }: KeyedCell): Pick<CaptureTarget, 'build' | 'cell' | 'plan' | 'run'> {
  const { builds, cells, runs } = plan;
  const other = runs.find((each) => each.cellKey === key)?.harness ?? null;
  if (other !== null) {
    throw new UsageError(
      `another harness measures this cell (${printable(other.driver)}): nsys captures trtexec and, with --preset, TensorRT-LLM`,
    );
  }
  const planned = cells.find(({ cell }) => cell.key === key);
  const build = builds.find(({ buildRef }) => buildRef === planned?.buildRef);
  const run = runs.find(({ cellKey, role }) => cellKey === key && role === 'timed');
  if (planned === undefined || build === undefined || run === undefined) {
    throw new Error(`the plan has no run of the cell ${key}`);
  }
  return { plan, cell: planned.cell, build, run };
}

/** The engine with which the cell was measured, if it is cached and its build is unchanged. */
export async function engineInCache(
  { build, cell, measured }: CaptureTarget,
  store: OpenStore | null,
): Promise<CachedEngine | null> {
  if (store === null || measured === null) return null;
  // The engine of a recording is only a placeholder.
  if (measured.sweep.provenance !== 'measured') return null;
  const isSame = measured.stored.plan.builds.some(({ buildRef }) => buildRef === build.buildRef);
  if (!isSame) return null;
  const cache = new EngineCache(enginesFolderOf(store.path));
  for (const key of engineKeysOf(store.db, measured.sweep.sweepId, [cell.key])) {
    const engines = await cache.builds((note) => note.engineKey === key && note.number === build.number);
    for (const engine of engines) if (await cache.isWhole(engine)) return engine;
  }
  return null;
}

export function captureRequest({ cell }: CaptureTarget, options: ProfileOptions): CaptureRequest {
  const dla = options.dla === true;
  return {
    output: options.output ?? `${fileName(cell.model)}_profile`,
    replaces: options.force === true,
    hasGraph: cell.cudaGraph === true,
    gpuMetrics: options.gpuMetrics === true,
    dla,
    iterations: options.iterations ?? (dla ? CAPTURED_DLA_QUERIES : CAPTURED_QUERIES),
  };
}

/** Steps in order; omits the build of a cached engine. */
export function captureSteps(
  { build, cell, run }: CaptureTarget,
  request: CaptureRequest,
  dialect: NsysDialect,
  trtexec: string,
  cached: CachedEngine | null,
): CaptureStep[] {
  const stand = `${fileName(cell.model)}.plan`;
  const engine = build.enginePath ?? cached?.path ?? stand;
  const isBuilt = build.enginePath !== null || cached !== null;
  const variables = {};
  return [
    ...(isBuilt ? [] : [{ kind: 'build' as const, variables, argv: [trtexec, ...shownBuildArgs(build.args, stand)] }]),
    {
      kind: 'capture',
      variables: run.env,
      argv: ['nsys', ...captureArgs(request, dialect, [trtexec], run.args, engine)],
    },
    { kind: 'export', variables, argv: ['nsys', ...exportArgs(request.output)] },
  ];
}

const argv = z.array(z.string());

export const profileOutput = output('bench profile --json', {
  dryRun: z.boolean(),
  cell: id.nullable().describe('Null for a command behind --'),
  label: z.string().nullable(),
  tensorrt: z.string().nullable(),
  nsysVersion: z.string().nullable().describe('Null if bench did not ask nsys'),
  engine: z.string().nullable().describe('Path of an existing engine; null if bench builds it'),
  steps: z.array(
    z.strictObject({
      kind: z.enum(['build', 'capture', 'export']),
      variables: z.record(z.string(), z.string().nullable()).describe('Environment variables; null removes one'),
      argv,
    }),
  ),
  notes: z.array(z.string()),
  files: z.array(z.strictObject({ path: z.string(), bytes: count, attached: z.boolean() })),
  runId: id.nullable().describe('The run with these attachments'),
  kernels: captured.nullable(),
});

export type ProfileOutput = OutputOf<typeof profileOutput>;

/** Variables and command line of a step. */
export type CaptureStep = ProfileOutput['steps'][number];

/** Output before anything was captured. */
export const NOT_CAPTURED = { schemaVersion: 1, dryRun: true, files: [], runId: null, kernels: null } as const;
