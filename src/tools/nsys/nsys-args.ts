import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { lastLinesOf } from '../../files/files.ts';
import { EnvironmentLackingError, IncompleteError, InterruptedError, UsageError } from '../../errors.ts';
import { ask, problemOf } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { PLACEHOLDERS } from '../../records/plan.ts';

export interface CaptureRequest {
  /** Name of the report without its extension. */
  readonly output: string;
  readonly iterations: number;
  /** True if a graph is launched as a whole, so that its kernels are visible only with tracing of each node. */
  readonly hasGraph: boolean;
  readonly force?: boolean | undefined;
  readonly gpuMetrics?: boolean | undefined;
  readonly dla?: boolean | undefined;
}

export const CAPTURED_QUERIES = 50;
export const CAPTURED_DLA_QUERIES = 20;

/**
 * The arguments of `nsys` for a capture, as in TensorRT's guide. trtexec brackets its timed queries with the profiler
 * interface of CUDA, so that loading and setup are not captured.
 * @param program trtexec with the words before its arguments
 * @param runArgs arguments of a timed run of the cell, from the plan
 * @throws EnvironmentLackingError if this Nsight Systems does not support the capture
 */
export function captureArgs(
  request: CaptureRequest,
  dialect: NsysDialect,
  program: readonly string[],
  runArgs: readonly string[],
  engine: string,
): string[] {
  const output = ['-o', request.output, ...(request.force === true ? ['-f', 'true'] : [])];
  const isDla = request.dla === true;
  const trace = isDla
    ? dlaTrace(dialect)
    : ['--capture-range', 'cudaProfilerApi', ...(request.hasGraph ? ['--cuda-graph-trace=node'] : [])];
  const metrics =
    request.gpuMetrics === true ? [supported(dialect, 'gpuMetrics', 'no GPU metrics: a newer one has'), 'all'] : [];
  return [
    'profile',
    ...output,
    ...trace,
    ...metrics,
    ...program,
    ...(isDla ? [] : ['--profilingVerbosity=detailed']),
    ...capturedRun(engine, request.iterations),
    ...ownArgs(runArgs),
  ];
}

/** Arguments of trtexec for a run under a profiler: a number of queries, without a warm-up. */
export function capturedRun(engine: string, iterations: number): string[] {
  return [`--loadEngine=${engine}`, '--warmUp=0', '--duration=0', `--iterations=${iterations}`];
}

function supported(dialect: NsysDialect, option: 'accelerators' | 'gpuMetrics', otherwise: string): string {
  const { [option]: spelled, version } = dialect;
  if (spelled !== null) return spelled;
  throw new EnvironmentLackingError(`Nsight Systems${version === null ? '' : ` ${version}`} has ${otherwise}`);
}

function dlaTrace(dialect: NsysDialect): string[] {
  const otherwise = 'no --accelerator-trace: DLA is traced by the edition for embedded platforms, on the board itself';
  const how = supported(dialect, 'accelerators', otherwise);
  const traced = how === 'nvmedia' ? 'cuda,nvtx,nvmedia,osrt' : `cuda,nvtx,cudla,${how},osrt`;
  return ['-t', traced, `--accelerator-trace=${how}`, '--show-output=true'];
}

/** Options that do not affect a capture, such as durations and exports. One stream is the default. */
const NOT_CAPTURED =
  /^--(?:loadEngine|warmUp|duration|iterations|percentile|profilingVerbosity|export\w+|dumpProfile|separateProfileRun)(?:=|$)|^--(?:infStreams|streams)=1$/;

/** The arguments of a timed run that define the cell. */
export function ownArgs(runArgs: readonly string[]): string[] {
  return runArgs
    .filter((arg) => !NOT_CAPTURED.test(arg))
    .map((arg) => arg.replace(new RegExp(`=${PLACEHOLDERS.variant}$`), '=variant.onnx'));
}

export function exportArgs(output: string): string[] {
  return ['export', '--type', 'sqlite', '--force-overwrite', 'true', '-o', `${output}.sqlite`, `${output}.nsys-rep`];
}

/** The build command for the user, without options that bench adds. */
export function shownBuildArgs(args: readonly string[], engine: string): string[] {
  const [onnx = '', ...rest] = args;
  return [
    onnx === `--onnx=${PLACEHOLDERS.variant}` ? '--onnx=variant.onnx' : onnx,
    rest.find((arg) => arg.startsWith('--profilingVerbosity=')) ?? '--profilingVerbosity=detailed',
    `--saveEngine=${engine}`,
    ...rest.filter((arg) => !/^--(?:saveEngine|timingCacheFile|exportLayerInfo|profilingVerbosity)=/.test(arg)),
  ];
}

/** The name of a model as a file name that needs no quotes in a shell. */
export function fileName(name: string): string {
  return name.replace(/[^\w.-]/g, '_').replace(/^[.-]+/, '_') || 'model';
}

/** Newer names come first. */
const GPU_METRICS = ['--gpu-metrics-devices', '--gpu-metrics-device'] as const;
const ACCELERATORS = ['tegra-accelerators', 'nvmedia'] as const;

/** The dialect of TensorRT's guide, used if Nsight Systems is not queried. */
export const GUIDE_NSYS: NsysDialect = { version: null, gpuMetrics: '--gpu-metrics-device', accelerators: 'nvmedia' };

/**
 * Reads the dialect from the help of `nsys profile`, because renamings are undocumented and embedded builds have their
 * own options.
 */
export function nsysDialect(version: string, help: string) {
  const has = (option: string): boolean => new RegExp(`${option}(?![\\w-])`).test(help);
  return {
    /** `2024.6.2`; null if assumed. */
    version: /\d{4}\.\d+(?:\.\d+)?/.exec(version)?.[0] ?? null,
    /** `--gpu-metrics-devices` in newer versions, which removed the older name. */
    gpuMetrics: GPU_METRICS.find(has) ?? null,
    /** Option for tracing DLA: `nvmedia` until about 2022, `tegra-accelerators` later; null if unsupported. */
    accelerators: has('--accelerator-trace') ? (ACCELERATORS.find(has) ?? null) : null,
  };
}

export type NsysDialect = Readonly<ReturnType<typeof nsysDialect>>;

const TIMEOUT_MS = 30_000;

/** The installed Nsight Systems; null if there is none. It profiles nothing. */
export async function askNsys(env: EnvironmentVariables): Promise<NsysDialect | null> {
  const version = await ask('nsys', ['--version'], { env, timeoutMs: TIMEOUT_MS });
  if (version.kind === 'missing') return null;
  const help = await ask('nsys', ['profile', '--help'], { env, timeoutMs: TIMEOUT_MS });
  const [words, options] = [version, help].map((answer) => {
    if (answer.kind === 'answered') return answer.text;
    throw new EnvironmentLackingError(`nsys: ${problemOf(answer)}`);
  });
  return nsysDialect(words ?? '', options ?? '');
}

interface NsysContext {
  readonly spawn: Spawn;
  readonly env: EnvironmentVariables;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

const CAPTURE_TIMEOUT_MS = 60 * 60_000;
const LAST_WORDS = 3;

/**
 * Runs nsys and shows its output only if it fails.
 * @param result the file that it writes
 * @throws IncompleteError that begins with `problem`
 */
export async function runNsys(
  { spawn, env, cwd, signal }: NsysContext,
  args: readonly string[],
  result: string,
  problem: string,
): Promise<void> {
  // Remove an older file, which must not be taken for the new one.
  rmSync(resolve(cwd, result), { force: true });
  await inTemporaryFolder('nsys', async (folder) => {
    const [stdoutPath, stderrPath] = [join(folder, 'stdout.log'), join(folder, 'stderr.log')];
    const ended = await spawn(
      { file: 'nsys', args, cwd, env, stdoutPath, stderrPath, timeoutMs: CAPTURE_TIMEOUT_MS, isTimed: true },
      signal,
      () => {},
    );
    if (ended.cancelled || signal.aborted) throw new InterruptedError('interrupted');
    if (ended.startProblem !== null) throw new EnvironmentLackingError(`nsys: ${ended.startProblem}`);
    if (ended.exitCode === 0 && existsSync(resolve(cwd, result))) return;
    const exit = ended.timedOut ? 'it took too long' : `exit code ${ended.exitCode ?? ended.signal}, no ${result}`;
    const lines = [stdoutPath, stderrPath].flatMap((path) => lastLinesOf(path, LAST_WORDS));
    throw new IncompleteError([`${problem}: ${exit}`, ...lines.map((line) => `  ${line}`)].join('\n'));
  });
}

/** @throws IncompleteError without a report */
export function captureWith(context: NsysContext, args: readonly string[], output: string): Promise<void> {
  return runNsys(context, args, `${output}.nsys-rep`, 'nsys captured nothing');
}

export function capturedFiles(cwd: string, output: string): { report: string; sqlite: string } {
  return { report: resolve(cwd, `${output}.nsys-rep`), sqlite: resolve(cwd, `${output}.sqlite`) };
}

/** @throws UsageError if a capture would overwrite existing files */
export function refuseOverwrite(cwd: string, { output, force }: Pick<CaptureRequest, 'output' | 'force'>): void {
  const taken = Object.values(capturedFiles(cwd, output)).find((path) => existsSync(path));
  if (force === true || taken === undefined) return;
  throw new UsageError(`${taken} is there already: --output gives the capture another name, --force replaces it`);
}
