import * as z from 'zod';

import { enginesFolderOf } from '../../files/layout.ts';
import type { Io } from '../../cli/io.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { UsageError } from '../../errors.ts';
import { type KeyedCell, cellLabel } from '../../records/cell.ts';
import { type OutputOf, count, id, output } from '../../records/output-parts.ts';
import type { PlannedBuild } from '../../records/plan.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { namedCell, onlyCell } from '../../selection/cell-points.ts';
import { allCells } from '../../store/cells.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { engineKeysOf } from '../../store/runs/runs.ts';
import { sweepsOfCell } from '../../store/sweeps/find-sweeps.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import { exportArgs, fileName, shownBuildArgs } from '../../tools/nsys/nsys-args.ts';
import { captured } from '../layers/index.ts';
import { prepare, readMatrix } from '../plan/index.ts';
import type { ProfileOptions } from './command.ts';

export type CaptureTarget = Awaited<ReturnType<typeof captureTarget>>;

/**
 * A cell with its build, its timed command line, and the newest sweep that measured it with a plan. `prepared` is null
 * for a cell of the store, `engine` for one that is not built; `trtexec` is for a command line that is only shown.
 */
export async function captureTarget(
  name: string | undefined,
  store: OpenStore | null,
  options: ProfileOptions,
  io: Io,
) {
  const { matrix } = options;
  const found = matrix === undefined ? ofStore(name, store) : await ofMatrix(name, matrix, store, options, io);
  const { cell, measured, plan, prepared } = found;
  const planned = plan.cells.find((each) => each.cell.key === cell.key);
  const build = plan.builds.find(({ buildRef }) => buildRef === planned?.buildRef);
  const ofCell = plan.runs.filter(({ cellKey }) => cellKey === cell.key);
  const other = ofCell[0]?.harness ?? null;
  if (other !== null) {
    throw new UsageError(
      `another harness measures this cell (${other.driver}): nsys captures trtexec and, with --preset, TensorRT-LLM`,
    );
  }
  const run = ofCell.find(({ role }) => role === 'timed');
  if (build === undefined || run === undefined) throw new Error(`the plan has no run of the cell ${cell.key}`);
  const engine = build.enginePath ?? (await engineInCache(found, build));
  const shown = options.trtexec ?? prepared?.program?.shownAs ?? measured?.stored.program.trtexec ?? 'trtexec';
  return { ...found, build, run, engine, trtexec: shown };
}

function ofStore(name: string | undefined, store: OpenStore | null) {
  if (name === undefined || store === null) {
    throw new UsageError('name a cell: bench profile CELL --nsys; `bench ls cells` lists the cells');
  }
  const cell = namedCell(store.db, allCells(store.db), name);
  const measured = newestPlanned(store.db, cell);
  if (measured === null) {
    throw new UsageError(
      `${cellLabel(cell)} was imported, so its build is unknown: name its matrix with --matrix FILE`,
    );
  }
  return { cell, measured, plan: measured.stored.plan, prepared: null, store };
}

async function ofMatrix(
  name: string | undefined,
  path: string,
  store: OpenStore | null,
  { tensorrt, trtexec }: ProfileOptions,
  io: Io,
) {
  const cells = readMatrix(path, io).cells.map(({ cell }) => cell);
  const cell = name === undefined ? onlyCell(cells, `${printable(path)} has`, cells) : namedCell(path, cells, name);
  const filter = `key=${cell.key}`;
  const stated = { filter, repeats: 1, builds: 1, profile: false, ...defined({ tensorrt, trtexec }) };
  const prepared = await prepare(path, stated, 'models maybe later', io);
  return { cell, measured: store && newestPlanned(store.db, cell), plan: prepared.plan, prepared, store };
}

const SEARCHED_SWEEPS = 20;

function newestPlanned(db: StoreDatabase, { key }: KeyedCell) {
  for (const sweep of sweepsOfCell(db, key, SEARCHED_SWEEPS)) {
    const stored = readStoredPlan(planOf(db, sweep.sweepId));
    if (stored?.plan.cells.some(({ cell }) => cell.key === key) === true) return { sweep, stored };
  }
  return null;
}

/** The engine with which the cell was measured, if it is cached and its build is unchanged. */
type FoundCell = Pick<Awaited<ReturnType<typeof ofMatrix>>, 'cell' | 'measured' | 'store'>;

async function engineInCache({ cell, measured, store }: FoundCell, build: PlannedBuild): Promise<string | null> {
  // The engine of a recording is only a placeholder.
  if (store === null || measured === null || measured.sweep.provenance !== 'measured') return null;
  if (!measured.stored.plan.builds.some(({ buildRef }) => buildRef === build.buildRef)) return null;
  const cache = new EngineCache(enginesFolderOf(store.path));
  for (const key of engineKeysOf(store.db, measured.sweep.sweepId, [cell.key])) {
    const engines = await cache.builds((note) => note.engineKey === key && note.number === build.number);
    for (const engine of engines) if (await cache.isWhole(engine)) return engine.path;
  }
  return null;
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

/** Output before anything was captured. @param target the cell; none for a command */
export function notCaptured(target?: CaptureTarget): Omit<ProfileOutput, 'steps'> {
  return {
    schemaVersion: 1,
    dryRun: true,
    cell: target?.cell.key ?? null,
    label: target === undefined ? null : cellLabel(target.cell),
    tensorrt: target?.plan.tensorrt ?? null,
    nsysVersion: null,
    engine: target?.engine ?? null,
    notes: [],
    files: [],
    runId: null,
    kernels: null,
  };
}

/** The steps of a capture, after the build of the engine if none was found. */
export function withBuild({ build, cell, engine, trtexec }: CaptureTarget, steps: ProfileOutput['steps']) {
  const built = [trtexec, ...shownBuildArgs(build.args, `${fileName(cell.model)}.plan`)];
  return engine === null ? [{ kind: 'build' as const, variables: {}, argv: built }, ...steps] : steps;
}

/** The steps of nsys, in order. @param args of the capture, with the variables of its environment */
export function nsysSteps(
  args: readonly string[],
  variables: ProfileOutput['steps'][number]['variables'],
  report: string,
): ProfileOutput['steps'] {
  return [
    { kind: 'capture', variables, argv: ['nsys', ...args] },
    { kind: 'export', variables: {}, argv: ['nsys', ...exportArgs(report)] },
  ];
}
