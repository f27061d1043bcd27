import { stat } from 'node:fs/promises';

import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { EnvironmentLackingError, UsageError } from '../../errors.ts';
import { outcomeReason } from '../../records/outcome.ts';
import { attachFile } from '../../artefacts/attached.ts';
import { captureProblem, type CaptureRequest, exportArgs } from '../../tools/nsys/nsys-args.ts';
import { askNsys, GUIDE_NSYS } from '../../tools/nsys/nsys-dialect.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { capturedFiles, refuseOverwrite, runNsys } from '../../tools/nsys/run-nsys.ts';
import type { TrtexecProgram } from '../../trtexec/program/find-trtexec.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import type { CellRun } from '../../records/run.ts';
import type { OpenStore } from '../../store/file/open.ts';
import type { Io } from '../../cli/io.ts';
import { readKernels } from '../layers/index.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import { chooseProgram } from '../../cli/program.ts';
import { CaptureError, captureCell } from './capture-cell.ts';
import type { ProfileOptions } from './command.ts';
import { NOT_CAPTURED, type ProfileOutput } from './output.ts';
import { captureSteps, captureRequest, captureTarget, type CaptureTarget, engineInCache } from './target.ts';

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
  const runs = runsOf(target, store);
  const isIgnored = outcomeReason(runs.at(-1)?.outcome ?? NOTHING) === 'graphNotCaptured';
  const request = captureRequest(target, target.cell.cudaGraph === true && !isIgnored, options);
  const problem = captureProblem(request, dialect);
  if (problem !== null) throw new EnvironmentLackingError(problem);
  const cached = await engineInCache(target, store);
  const base: ProfileOutput = {
    ...NOT_CAPTURED,
    cell: target.cell.key,
    label: cellLabel(target.cell),
    tensorrt: target.tensorrt,
    nsysVersion: dialect.version,
    engine: target.build.enginePath ?? cached?.path ?? null,
    steps: captureSteps(target, request, dialect, trtexecShown(target, options), cached),
    notes: found === null ? ["no nsys on PATH: its options are spelled as TensorRT's guide does"] : [],
  };
  if (isDryRun) return base;
  if (store === null) {
    throw new UsageError('there is no store here: measure the cell first, with `bench run`');
  }
  refuseOverwrite(io.cwd, request.output, request.replaces);
  const engine = await captureCell(target, request, dialect, programOf(target, options, io), store, io);
  const done = await finish(target, request, runs, store, options, io);
  return { ...base, ...done, dryRun: false, engine };
}

const NOTHING = { kind: 'measured', evidence: [] } as const;

/** Timed runs of the cell in its newest sweep, newest last. */
function runsOf({ cell, measured }: CaptureTarget, store: OpenStore | null): CellRun[] {
  if (store === null || measured === null) return [];
  return cellRunsOf(store.db, [measured.sweep.sweepId], [cell.key])
    .filter(({ role }) => role === 'timed')
    .toSorted((a, b) => ((a.startedAt ?? '') < (b.startedAt ?? '') ? -1 : 1));
}

/** The trtexec for a command line that is only shown. */
export function trtexecShown({ measured, prepared }: CaptureTarget, { trtexec }: ProfileOptions): string {
  if (trtexec !== undefined) return trtexec;
  if (prepared !== null) return prepared.program?.shownAs ?? 'trtexec';
  return measured?.stored.program.trtexec ?? 'trtexec';
}

function programOf({ measured, prepared }: CaptureTarget, { trtexec }: ProfileOptions, io: Io): TrtexecProgram {
  const stored = measured?.stored.program ?? null;
  const program =
    prepared?.program ??
    chooseProgram(
      stored?.replayFolder !== null && stored?.replayFolder !== undefined && trtexec === undefined
        ? { replay: stored.replayFolder }
        : { trtexec: trtexec ?? stored?.trtexec ?? 'trtexec' },
      { replay: null, trtexec: null },
      io,
    ).program;
  if (program.recordings === null) return program;
  throw new UsageError(
    'this cell was recorded: a capture needs a real trtexec (--trtexec PATH); --dry-run shows the commands',
  );
}

type Finished = Pick<ProfileOutput, 'files' | 'kernels' | 'notes' | 'runId'>;

/** Exports, reads and attaches a capture. A failure is a remark, because the report of nsys exists. */
async function finish(
  { cell, measured }: CaptureTarget,
  request: CaptureRequest,
  runs: readonly CellRun[],
  { db, path }: OpenStore,
  { maxSize }: ProfileOptions,
  io: Io,
): Promise<Finished> {
  const { report, sqlite } = capturedFiles(io.cwd, request.output);
  const { size } = await stat(report);
  if (size > maxSize) {
    const files = [{ path: report, bytes: size, attached: false }];
    return { files, runId: null, kernels: null, notes: [sizeWarning(report, size, maxSize)] };
  }
  const context = { spawn: io.spawn, env: io.env, cwd: io.cwd, signal: io.signal };
  const failure = await runNsys(context, exportArgs(request.output), sqlite);
  if (failure !== null) {
    throw new CaptureError(`${report} is there, but nsys did not export it: ${failure.exit}`, failure.lastWords);
  }
  const engine = profiledCell(db, cell, measured === null ? null : [measured.sweep.sweepId], '');
  const { kernels, notes: unread } = kernelsIfAny(sqlite, engine);
  const run = runs.findLast(({ outcome }) => outcome.kind === 'measured') ?? null;
  const attachContext = { db, artefactsFolder: artefactsFolderOf(path), now: io.now };
  const files: Finished['files'][number][] = [];
  const notes = [...(engine?.notes ?? []), ...unread];
  for (const file of [report, sqlite]) {
    const { size: bytes } = await stat(file);
    const isSmall = bytes <= maxSize;
    if (!isSmall) notes.push(sizeWarning(file, bytes, maxSize));
    const attached = run !== null && isSmall;
    if (attached) await attachFile(attachContext, run.runId, file, stampedName(file, io));
    files.push({ path: file, bytes, attached });
  }
  return { files, runId: files.some(({ attached }) => attached) ? (run?.runId ?? null) : null, kernels, notes };
}

/** The kernels of a new capture. Unreadable ones are a remark, because the capture exists. */
export function kernelsIfAny(sqlite: string, engine: ProfiledEngine | null): Pick<ProfileOutput, 'kernels' | 'notes'> {
  try {
    return { kernels: readKernels(sqlite, engine), notes: [] };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { kernels: null, notes: [error.message] };
  }
}

function sizeWarning(path: string, bytes: number, mostBytes: number): string {
  return `${path} has ${formatBytes(bytes)}, more than --max-size ${formatBytes(mostBytes)}: it is neither read nor attached; fewer --iterations make it smaller`;
}

/** The time of capture distinguishes captures of one run: `vit_profile-20261121T223344Z.nsys-rep`. */
function stampedName(path: string, io: Io): string {
  const [, base = '', ending = ''] = /([^/]*?)(\.[^./]+)$/.exec(path) ?? [];
  const stamp = io
    .now()
    .toISOString()
    .replace(/[-:]|\.\d+/g, '');
  return `${base}-${stamp}${ending}`;
}
