import { KNOWN_VARIABLES } from './known-variables.ts';

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** Without those that are not set. */
export function definedVariables(env: EnvironmentVariables): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** What changes a measurement and holds no secret: only these are stored. */
const STORED = [
  'CUDA_VISIBLE_DEVICES',
  'CUDA_DEVICE_ORDER',
  'CUDA_MODULE_LOADING',
  'CUDA_DEVICE_MAX_CONNECTIONS',
  'CUDA_CACHE_DISABLE',
  'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE',
  'NVIDIA_VISIBLE_DEVICES',
  'NVIDIA_TF32_OVERRIDE',
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'OMP_NUM_THREADS',
  'TRT_INTERNAL_OPTIONS',
  ...KNOWN_VARIABLES.map(({ name }) => name),
];

/** True for a variable that holds no secret on any machine, whoever stored it. */
export function isStoredVariable(name: string): boolean {
  return STORED.includes(name);
}

export function storedVariables(env: EnvironmentVariables): Record<string, string> {
  return Object.fromEntries(
    STORED.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
