import { PLACEHOLDERS } from '../../records/plan.ts';
import type { NsysDialect } from './nsys-dialect.ts';

export interface CaptureRequest {
  /** Name of the report without its extension. */
  readonly output: string;
  readonly replaces: boolean;
  /** True if a graph is launched as a whole, so that its kernels are visible only with tracing of each node. */
  readonly hasGraph: boolean;
  readonly gpuMetrics: boolean;
  readonly dla: boolean;
  readonly iterations: number;
}

export const CAPTURED_QUERIES = 50;
export const CAPTURED_DLA_QUERIES = 20;

/** Why this Nsight Systems does not support the capture; null if it does. */
export function captureProblem(
  { dla, gpuMetrics }: Pick<CaptureRequest, 'dla' | 'gpuMetrics'>,
  { accelerators, gpuMetrics: option, version }: NsysDialect,
): string | null {
  const which = `Nsight Systems ${version ?? ''}`.trim();
  if (dla && accelerators === null) {
    return `${which} has no --accelerator-trace: DLA is traced by the edition for embedded platforms, on the board itself`;
  }
  return gpuMetrics && option === null
    ? `${which} has neither --gpu-metrics-devices nor --gpu-metrics-device: a newer one has`
    : null;
}

/**
 * The arguments of `nsys` for a capture, as in TensorRT's guide. trtexec brackets its timed queries with the profiler
 * interface of CUDA, so that loading and setup are not captured.
 * @param program trtexec with the words before its arguments
 * @param runArgs arguments of a timed run of the cell, from the plan
 */
export function captureArgs(
  request: CaptureRequest,
  dialect: NsysDialect,
  program: readonly string[],
  runArgs: readonly string[],
  engine: string,
): string[] {
  const output = ['-o', request.output, ...(request.replaces ? ['-f', 'true'] : [])];
  const trace = request.dla
    ? dlaTrace(dialect)
    : ['--capture-range', 'cudaProfilerApi', ...(request.hasGraph ? ['--cuda-graph-trace=node'] : [])];
  const metrics = request.gpuMetrics && dialect.gpuMetrics !== null ? [dialect.gpuMetrics, 'all'] : [];
  return [
    'profile',
    ...output,
    ...trace,
    ...metrics,
    ...program,
    ...(request.dla ? [] : ['--profilingVerbosity=detailed']),
    ...capturedRun(engine, request.iterations),
    ...ownArgs(runArgs),
  ];
}

/** Arguments of trtexec for a run under a profiler: a number of queries, without a warm-up. */
export function capturedRun(engine: string, iterations: number): string[] {
  return [`--loadEngine=${engine}`, '--warmUp=0', '--duration=0', `--iterations=${iterations}`];
}

function dlaTrace({ accelerators }: NsysDialect): string[] {
  const how = accelerators ?? 'nvmedia';
  return [
    '-t',
    how === 'nvmedia' ? 'cuda,nvtx,nvmedia,osrt' : `cuda,nvtx,cudla,${how},osrt`,
    `--accelerator-trace=${how}`,
    '--show-output=true',
  ];
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

function isVerbosity(arg: string): boolean {
  return arg.startsWith('--profilingVerbosity=');
}

/** The build command for the user, without options that bench adds. */
export function shownBuildArgs(args: readonly string[], engine: string): string[] {
  const [onnx = '', ...rest] = args;
  const own = rest.filter(
    (arg) => !/^--(?:saveEngine|timingCacheFile|exportLayerInfo)=/.test(arg) && !isVerbosity(arg),
  );
  return [
    onnx === `--onnx=${PLACEHOLDERS.variant}` ? '--onnx=variant.onnx' : onnx,
    rest.find(isVerbosity) ?? '--profilingVerbosity=detailed',
    `--saveEngine=${engine}`,
    ...own,
  ];
}

/** The name of a model as a file name that needs no quotes in a shell. */
export function fileName(name: string): string {
  return name.replace(/[^\w.-]/g, '_').replace(/^[.-]+/, '_') || 'model';
}
