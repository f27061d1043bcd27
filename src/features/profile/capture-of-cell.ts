import { stat } from 'node:fs/promises';
import { basename } from 'node:path';

import { attachFile } from '../../artefacts/attached.ts';
import { artefactsFolderOf, enginesFolderOf } from '../../files/layout.ts';
import type { Io } from '../../cli/io.ts';
import { LiveProgress } from '../../run/live-progress.ts';
import { chooseProgram } from '../../cli/program.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { filledArgs } from '../../engines/engine-state.ts';
import { provideEngine } from '../../engines/provide-engine.ts';
import { BenchError, EnvironmentLackingError, UsageError } from '../../errors.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { machineOf } from '../../machine/machine.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { openWorkers } from '../../run/gpu-worker.ts';
import { overlay } from '../../run/start.ts';
import { lockSweep } from '../../run/planned-sweep.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { outcomeText } from '../../terminal/words.ts';
import { cellLabel } from '../../records/cell-label.ts';
import { printable } from '../../text/printable.ts';
import {
  type CaptureRequest,
  GUIDE_NSYS,
  type NsysDialect,
  askNsys,
  captureArgs,
  captureProblem,
  capturedFiles,
  exportArgs,
  refuseOverwrite,
  runNsys,
} from '../../tools/nsys/nsys-args.ts';
import type { TrtexecProgram } from '../../trtexec/program/find-trtexec.ts';
import { converterFor } from '../../variants/converter.ts';
import { Variants } from '../../variants/sweep-variants.ts';
import { readKernels } from '../layers/index.ts';
import type { ProfileOptions } from './command.ts';
import {
  type CaptureTarget,
  NOT_CAPTURED,
  type ProfileOutput,
  captureRequest,
  captureSteps,
  captureTarget,
  engineInCache,
} from './target.ts';

export const NO_NSYS =
  "nsys is not on PATH: it comes with the CUDA toolkit, in NVIDIA's containers, or as the package nsight-systems-cli; --dry-run shows the commands without it";

export async function captureOfCell(
  name: string | undefined,
  store: OpenStore | null,
  options: ProfileOptions,
  io: Io,
): Promise<ProfileOutput> {
  const isDryRun = options.dryRun === true;
  const target = await captureTarget(name, store, options, io);
  const found = await askNsys(io.env);
  if (found === null && !isDryRun) throw new EnvironmentLackingError(NO_NSYS);
  const dialect = found ?? GUIDE_NSYS;
  const request = captureRequest(target, options);
  const problem = captureProblem(request, dialect);
  if (problem !== null) throw new EnvironmentLackingError(problem);
  const cached = await engineInCache(target, store);
  const base: ProfileOutput = {
    ...NOT_CAPTURED,
    cell: target.cell.key,
    label: cellLabel(target.cell),
    tensorrt: target.plan.tensorrt,
    nsysVersion: dialect.version,
    engine: target.build.enginePath ?? cached?.path ?? null,
    steps: captureSteps(target, request, dialect, trtexecShown(target, options), cached),
    notes: found === null ? ["no nsys on PATH: its options follow TensorRT's guide"] : [],
  };
  if (isDryRun) return base;
  if (store === null) {
    throw new UsageError('there is no store here: measure the cell first, with `bench run`');
  }
  refuseOverwrite(io.cwd, request.output, request.replaces);
  const run = newestRunOf(target, store);
  const engine = await captureCell(target, request, dialect, programOf(target, options, io), store, io);
  const { measured } = target;
  const profiled = profiledCell(store.db, target.cell, measured === null ? null : [measured.sweep.sweepId], '');
  const read = await readCapture(request.output, profiled, options.maxSize, io);
  return { ...base, ...(await attach(read, run, store, options.maxSize, io)), dryRun: false, engine };
}

/** The newest measured run of the cell in its newest sweep. */
function newestRunOf({ cell, measured }: CaptureTarget, { db }: OpenStore): CellRun | undefined {
  return cellRunsOf(db, measured === null ? [] : [measured.sweep.sweepId], [cell.key])
    .filter((run) => run.role === 'timed' && isMeasured(run))
    .toSorted((a, b) => ((a.startedAt ?? '') < (b.startedAt ?? '') ? -1 : 1))
    .at(-1);
}

/** The trtexec for a command line that is only shown. */
export function trtexecShown({ measured, prepared }: CaptureTarget, { trtexec }: ProfileOptions): string {
  return trtexec ?? prepared?.program?.shownAs ?? measured?.stored.program.trtexec ?? 'trtexec';
}

function programOf({ measured, prepared }: CaptureTarget, { trtexec }: ProfileOptions, io: Io): TrtexecProgram {
  const stored = measured?.stored.program ?? null;
  const isRecorded = trtexec === undefined && typeof stored?.replayFolder === 'string';
  const chosen = { trtexec: trtexec ?? stored?.trtexec ?? 'trtexec' };
  const program = prepared?.program ?? (isRecorded ? null : chooseProgram(chosen, NOT_STATED, io).program);
  if (program !== null && program.recordings === null) return program;
  throw new UsageError(
    'this cell was recorded: a capture needs a real trtexec (--trtexec PATH); --dry-run shows the commands',
  );
}

const NOT_STATED = { replay: null, trtexec: null };

type Captured = Pick<ProfileOutput, 'files' | 'kernels' | 'notes'>;

/** @throws CaptureError with the last lines of nsys's output */
export async function captured(
  args: readonly string[],
  output: string,
  io: Pick<Io, 'cwd' | 'env' | 'signal' | 'spawn'>,
) {
  const failure = await runNsys(io, args, `${output}.nsys-rep`);
  if (failure !== null) throw new CaptureError(`nsys captured nothing: ${failure}`);
}

async function fileOf(path: string) {
  return { path, bytes: (await stat(path)).size, attached: false };
}

/** Exports and reads a capture. If it is too large or cannot be read, a note says so: the report itself exists. */
export async function readCapture(
  output: string,
  engine: ProfiledEngine | null,
  maxSize: number,
  io: Io,
): Promise<Captured> {
  const { report, sqlite } = capturedFiles(io.cwd, output);
  const raw = await fileOf(report);
  if (raw.bytes > maxSize) return { files: [raw], kernels: null, notes: [sizeWarning(report, raw.bytes, maxSize)] };
  const failure = await runNsys(io, exportArgs(output), sqlite);
  if (failure !== null) throw new CaptureError(`${report} is there, but nsys did not export it: ${failure}`);
  const exported = await fileOf(sqlite);
  const files = [raw, exported];
  const notes = [...(engine?.notes ?? [])];
  if (exported.bytes > maxSize) notes.push(sizeWarning(sqlite, exported.bytes, maxSize));
  try {
    return { files, kernels: readKernels(sqlite, engine), notes };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { files, kernels: null, notes: [...notes, error.message] };
  }
}

/** Attaches the files that are small enough. */
async function attach(
  { files, ...read }: Captured,
  run: CellRun | undefined,
  { db, path }: OpenStore,
  maxSize: number,
  io: Io,
): Promise<Captured & Pick<ProfileOutput, 'runId'>> {
  const context = { db, artefactsFolder: artefactsFolderOf(path), now: io.now };
  const small = run === undefined ? [] : files.filter(({ bytes }) => bytes <= maxSize);
  if (run === undefined || small.length === 0) return { ...read, files, runId: null };
  for (const file of small) await attachFile(context, run.runId, file.path, stampedName(file.path, io));
  return { ...read, files: files.map((file) => ({ ...file, attached: small.includes(file) })), runId: run.runId };
}

function sizeWarning(path: string, bytes: number, mostBytes: number): string {
  return `${path} has ${formatBytes(bytes)}, more than --max-size ${formatBytes(mostBytes)}: it is not attached; fewer --iterations, or a shorter --window, make it smaller`;
}

/** The time of capture distinguishes captures of one run: `20261121T223344Z-vit_profile.nsys-rep`. */
function stampedName(path: string, { now }: Io): string {
  return `${now()
    .toISOString()
    .replace(/[-:]|\.\d+/g, '')}-${basename(path)}`;
}

class CaptureError extends BenchError {
  override readonly name = 'CaptureError';
  readonly exitCode = EXIT_CODES.incomplete;

  override get lines(): readonly string[] {
    return this.message.split('\n');
  }
}

/**
 * Builds the engine of a cell unless it is cached, and captures only its queries. The build belongs to the sweep that
 * measured the cell. The capture is not a run, so no statistic uses it.
 * @returns the path of the engine
 */
async function captureCell(
  target: CaptureTarget,
  request: CaptureRequest,
  dialect: NsysDialect,
  program: TrtexecProgram,
  store: OpenStore,
  io: Io,
) {
  const { measured, plan } = target;
  if (measured === null) {
    throw new UsageError(
      'this cell was never measured here: measure it first; a capture is attached to a measured run (bench run MATRIX --filter ...)',
    );
  }
  const { sweep } = measured;
  const unlock = lockSweep(artefactsFolderOf(store.path), sweep.sweepId);
  const progress = new LiveProgress({ ...plan, runs: [] }, program, io);
  const cache = new EngineCache(enginesFolderOf(store.path));
  try {
    const machine = await machineOf(program, io);
    if (machine.note !== null) progress.take({ kind: 'note', text: machine.note });
    const settings = { telemetry: false, coolDown: null, numa: 'off' } as const;
    const own = plan.variants.filter(({ variantRef }) => variantRef === target.build.variantRef);
    const converter = await converterFor({ variants: own }, null, io);
    const opened = { sweep, plan, program, converter, machines: [machine] as const, settings, cache };
    const [worker] = await openWorkers(store, opened, io, (event) => progress.take(event));
    const context = { ...worker, mayChangeEngines: true };
    const state = await provideEngine(context, target.build, new Variants(context));
    if (state.kind === 'failed') {
      throw new CaptureError(`no engine to capture: ${outcomeText(state.outcome, io.errLook.style)}`);
    }
    const { engine } = state;
    io.err(`capturing ${request.iterations} queries of ${printable(target.build.label)}\n`);
    const args = captureArgs(
      request,
      dialect,
      [program.file, ...program.prefixArgs],
      filledArgs(target.run.args, { engine: engine.path, variant: engine.variantPath }),
      engine.path,
    );
    const env = { ...worker.program.env, ...overlay(target.run.env) };
    await captured(args, request.output, { spawn: worker.spawn, env, cwd: io.cwd, signal: io.signal });
    return engine.path;
  } finally {
    progress.end();
    cache.release();
    unlock();
  }
}
