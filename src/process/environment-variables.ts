import type { RunFlagId } from '../records/outcome.ts';

/** An environment variable that changes what a number means. */
interface KnownVariable {
  readonly name: string;
  /** `switch`: off if empty or 0; `set`: on with any value, such as a path. */
  readonly kind: 'switch' | 'set';
  readonly flags: readonly { readonly id: RunFlagId; readonly because: string }[];
}

const slows = (name: string, kind: KnownVariable['kind'], because: string): KnownVariable => ({
  name,
  kind,
  flags: [{ id: 'profilingOn', because }],
});

/**
 * The first six are from TensorRT-LLM. Source: docs/source/developer-guide/perf-analysis.md of its repository (the part
 * on the perfect router is from 2025-12-26, pull request 10303). NVIDIA's profilers set theirs in the programs that
 * they start; GROMACS checks the same ones (src/gromacs/gpu_utils/gpu_utils.cpp).
 */
export const KNOWN_VARIABLES: readonly KnownVariable[] = [
  {
    name: 'ENABLE_PERFECT_ROUTER',
    kind: 'switch',
    flags: [
      { id: 'upperBound', because: 'all experts get the same load, unlike with a real router' },
      { id: 'invalidOutput', because: "the router's decisions are discarded" },
    ],
  },
  slows('TLLM_PROFILE_START_STOP', 'set', 'the profiler is turned on and off within the run'),
  slows('TLLM_NVTX_DEBUG', 'switch', 'more NVTX ranges are marked'),
  slows('TLLM_PROFILE_RECORD_GC', 'switch', "each of Python's garbage collections is marked"),
  slows('TLLM_LLMAPI_ENABLE_NVTX', 'switch', 'the LLM API marks NVTX ranges'),
  slows('TLLM_TORCH_PROFILE_TRACE', 'set', "PyTorch's profiler writes a trace"),
  slows('CUDA_LAUNCH_BLOCKING', 'switch', 'the host waits for each kernel'),
  slows('NSYS_PROFILING_SESSION_ID', 'set', 'it ran under Nsight Systems'),
  slows('NV_NSIGHT_INJECTION_TRANSPORT_TYPE', 'set', 'it ran under Nsight Compute'),
  slows('NVPROF_ID', 'set', 'it ran under nvprof'),
  slows('CUDA_INJECTION64_PATH', 'set', 'a tool sits between the program and CUDA'),
];

/** With `off`, bench does not sample the GPU during the run. */
export const TELEMETRY_VARIABLE = 'BENCH_TELEMETRY';

const OFF = new Set(['', '0', 'false', 'off', 'no']);

export function knownVariablesOn(
  env: Readonly<Record<string, string | undefined>>,
): { readonly variable: KnownVariable; readonly value: string }[] {
  return KNOWN_VARIABLES.flatMap((variable) => {
    const value = env[variable.name] ?? '';
    const isOff = value === '' || (variable.kind === 'switch' && OFF.has(value.toLowerCase()));
    return isOff ? [] : [{ variable, value }];
  });
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

export function definedVariables(env: EnvironmentVariables): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Variables that affect measurements and hold no secret; only these are stored. */
const STORED = [
  ...`CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_MODULE_LOADING CUDA_DEVICE_MAX_CONNECTIONS
    CUDA_CACHE_DISABLE CUDA_MPS_ACTIVE_THREAD_PERCENTAGE NVIDIA_VISIBLE_DEVICES NVIDIA_TF32_OVERRIDE
    LD_LIBRARY_PATH LD_PRELOAD OMP_NUM_THREADS TRT_INTERNAL_OPTIONS`.split(/\s+/),
  ...KNOWN_VARIABLES.map(({ name }) => name),
];

export function isStoredVariable(name: string): boolean {
  return STORED.includes(name);
}

export function storedVariables(env: EnvironmentVariables): Record<string, string> {
  return definedVariables(Object.fromEntries(STORED.map((name) => [name, env[name]])));
}
