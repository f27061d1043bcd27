import { stat } from 'node:fs/promises';
import { basename } from 'node:path';

import { attachFile } from '../../artefacts/attached.ts';
import { artefactsFolderOf, enginesFolderOf } from '../../files/layout.ts';
import type { Io } from '../../cli/io.ts';
import { LiveProgress } from '../../run/live-progress.ts';
import { chooseProgram } from '../../cli/program.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { filledArgs, type LoadableEngine } from '../../engines/engine-state.ts';
import { provideEngine } from '../../engines/provide-engine.ts';
import { ensure, EnvironmentLackingError, IncompleteError, UsageError } from '../../errors.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { machinesFor } from '../../machine/machine.ts';
import { isMeasured } from '../../records/run.ts';
import type { Sweep } from '../../records/sweep.ts';
import { openWorkers } from '../../run/gpu-worker.ts';
import { overlay } from '../../run/start.ts';
import type { SweepContext } from '../../run/sweep-context.ts';
import { lockSweep } from '../../run/planned-sweep.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { outcomeText } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import { parseTensorrtVersion } from '../../text/version.ts';
import {
  CAPTURED_DLA_QUERIES,
  CAPTURED_QUERIES,
  type CaptureRequest,
  GUIDE_NSYS,
  askNsys,
  captureArgs,
  captureWith,
  capturedFiles,
  exportArgs,
  fileName,
  refuseOverwrite,
  runNsys,
} from '../../tools/nsys/nsys-args.ts';
import { capturedIterations } from '../../trtexec/arguments/spell-args.ts';
import type { TrtexecProgram } from '../../trtexec/program/find-trtexec.ts';
import { converterFor } from '../../variants/converter.ts';
import { variantsOf } from '../../variants/sweep-variants.ts';
import { readKernels } from '../layers/index.ts';
import type { ProfileOptions } from './command.ts';
import { type CaptureTarget, type ProfileOutput, notCaptured, nsysSteps, withBuild } from './target.ts';

export const NO_NSYS =
  "nsys is not on PATH: it comes with the CUDA toolkit, in NVIDIA's containers, or as the package nsight-systems-cli; --dry-run shows the commands without it";

export async function captureOfCell(target: CaptureTarget, options: ProfileOptions, io: Io): Promise<ProfileOutput> {
  const { build, cell, measured, plan, run, store, trtexec } = target;
  const found = await askNsys(io.env);
  if (found === null && options.dryRun !== true) throw new EnvironmentLackingError(NO_NSYS);
  const dialect = found ?? GUIDE_NSYS;
  const model = fileName(cell.model);
  const queries = options.iterations ?? (options.dla === true ? CAPTURED_DLA_QUERIES : CAPTURED_QUERIES);
  const request: CaptureRequest = {
    ...options,
    output: options.output ?? `${model}_profile`,
    iterations: capturedIterations(queries, parseTensorrtVersion(plan.tensorrt)),
    hasGraph: cell.cudaGraph === true,
  };
  const argsFor = (engine: string, program: readonly string[], runArgs: readonly string[]): string[] =>
    captureArgs(request, dialect, program, runArgs, engine);
  const steps = nsysSteps(argsFor(target.engine ?? `${model}.plan`, [trtexec], run.args), run.env, request.output);
  const base: ProfileOutput = {
    ...notCaptured(target),
    nsysVersion: dialect.version,
    steps: withBuild(target, steps),
    notes: found === null ? ["no nsys on PATH: its options follow TensorRT's guide"] : [],
  };
  if (options.dryRun === true) return base;
  ensure(
    store !== null && measured !== null,
    'this cell was never measured here: measure it first; a capture is attached to a measured run (bench run MATRIX --filter ...)',
  );
  refuseOverwrite(io.cwd, request);
  const program = programOf(target, options, io);
  const { sweepId } = measured.sweep;
  const engine = await withEngine(target, measured.sweep, program, store, io, async (ready, worker) => {
    io.err(`capturing ${queries} queries of ${printable(build.label)}\n`);
    const filled = filledArgs(run.args, { engine: ready.path, variant: ready.variantPath });
    const args = argsFor(ready.path, [program.file, ...program.prefixArgs], filled);
    const env = { ...worker.program.env, ...overlay(run.env) };
    await captureWith({ ...io, spawn: worker.spawn, env }, args, request.output);
  });
  const profiled = profiledCell(store.db, cell, [sweepId], '');
  const runs = cellRunsOf(store.db, [sweepId], [cell.key]);
  const runId = runs.findLast((each) => each.role === 'timed' && isMeasured(each))?.runId ?? null;
  // The time of capture distinguishes captures of one run: `20261121T223344Z-vit_profile.nsys-rep`.
  const stamp = io
    .now()
    .toISOString()
    .replace(/[-:]|\.\d+/g, '');
  const context = { db: store.db, artefactsFolder: artefactsFolderOf(store.path), now: io.now };
  const attach = async (path: string): Promise<boolean> => {
    if (runId !== null) await attachFile(context, runId, path, `${stamp}-${basename(path)}`);
    return runId !== null;
  };
  const read = await readCapture(request.output, profiled, options.maxSize, io, attach);
  const isAttached = read.files.some(({ attached }) => attached);
  return { ...base, ...read, runId: isAttached ? runId : null, dryRun: false, engine };
}

function programOf({ measured, prepared }: CaptureTarget, { trtexec }: ProfileOptions, io: Io): TrtexecProgram {
  const stored = measured?.stored.program ?? null;
  const isRecorded = trtexec === undefined && typeof stored?.replayFolder === 'string';
  const matrix = { trtexec: trtexec ?? stored?.trtexec ?? 'trtexec', replay: null };
  const program = prepared?.program ?? (isRecorded ? null : chooseProgram({}, matrix, io).program);
  if (program !== null && program.recordings === null) return program;
  throw new UsageError(
    'this cell was recorded: a capture needs a real trtexec (--trtexec PATH); --dry-run shows the commands',
  );
}

/** Exports, reads and attaches a capture. If it is too large or cannot be read, a note says so: the report exists. */
export async function readCapture(
  output: string,
  engine: ProfiledEngine | null,
  maxSize: number,
  io: Io,
  attach: (path: string) => Promise<boolean>,
): Promise<Pick<ProfileOutput, 'files' | 'kernels' | 'notes'>> {
  const files: ProfileOutput['files'][number][] = [];
  const notes = [...(engine?.notes ?? [])];
  const isSmall = async (path: string): Promise<boolean> => {
    const { size: bytes } = await stat(path);
    const fits = bytes <= maxSize;
    files.push({ path, bytes, attached: fits && (await attach(path)) });
    if (fits) return true;
    const limit = `more than --max-size ${formatBytes(maxSize)}: it is not attached`;
    notes.push(
      `${path} has ${formatBytes(bytes)}, ${limit}; fewer --iterations, or a shorter --window, make it smaller`,
    );
    return false;
  };
  const { report, sqlite } = capturedFiles(io.cwd, output);
  if (!(await isSmall(report))) return { files, kernels: null, notes };
  await runNsys(io, exportArgs(output), sqlite, `${report} is there, but nsys did not export it`);
  await isSmall(sqlite);
  try {
    return { files, kernels: readKernels(sqlite, engine), notes };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { files, kernels: null, notes: [...notes, error.message] };
  }
}

/**
 * Builds the engine of a cell unless it is cached, and hands it over while its GPU is locked. The build belongs to the
 * sweep that measured the cell. A capture is not a run, so no statistic uses it.
 */
async function withEngine(
  { build, plan }: CaptureTarget,
  sweep: Sweep,
  program: TrtexecProgram,
  store: OpenStore,
  io: Io,
  use: (engine: LoadableEngine, worker: SweepContext) => Promise<void>,
): Promise<string> {
  const unlock = lockSweep(artefactsFolderOf(store.path), sweep.sweepId);
  const progress = new LiveProgress({ ...plan, runs: [] }, program, io);
  const cache = new EngineCache(enginesFolderOf(store.path));
  try {
    const [machine] = await machinesFor(program, null, io);
    if (machine.note !== null) progress.take({ kind: 'note', text: machine.note });
    const stored = { plan, telemetry: false, coolDown: null, numa: 'off' } as const;
    const variants = plan.variants.filter(({ variantRef }) => variantRef === build.variantRef);
    const converter = await converterFor({ variants }, null, io);
    const prepared = { sweep, stored, program, converter, machines: [machine] as const };
    const [worker] = await openWorkers(store, prepared, cache, io, (event) => progress.take(event));
    const context = { ...worker, mayChangeEngines: true };
    const state = await provideEngine(context, build, variantsOf(context));
    if (state.kind === 'failed') {
      throw new IncompleteError(`no engine to capture: ${outcomeText(state.outcome, io.errLook.style)}`);
    }
    await use(state.engine, worker);
    return state.engine.path;
  } finally {
    progress.end();
    cache.release();
    unlock();
  }
}
