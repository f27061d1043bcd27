import { execFile } from 'node:child_process';

import type { Environment } from '../domain/environment.ts';
import { definedVariables, type EnvironmentVariables } from './environment-variables.ts';

const TIMEOUT_MS = 20_000;
const FIELDS = ['name', 'uuid', 'driver_version', 'memory.total'] as const;

type GpuFacts = Pick<Environment, 'gpuName' | 'gpuUuid' | 'driver' | 'gpuMemoryMib'>;

export type GpuQuery =
  | { readonly kind: 'gpus'; readonly gpus: readonly GpuFacts[] }
  | { readonly kind: 'none'; readonly note: string };

/** Asks nvidia-smi once, before anything is timed. A machine without it (Jetson, none) goes on without these facts. */
export function queryGpus(env: EnvironmentVariables): Promise<GpuQuery> {
  return new Promise((resolve) => {
    execFile(
      'nvidia-smi',
      [`--query-gpu=${FIELDS.join(',')}`, '--format=csv,noheader,nounits'],
      { timeout: TIMEOUT_MS, env: definedVariables(env) },
      (error, stdout) => {
        if (error !== null) {
          resolve({
            kind: 'none',
            note: `nvidia-smi gave no answer (${reasonOf(error)}): driver and GPU are taken from trtexec's log`,
          });
        } else resolve({ kind: 'gpus', gpus: parseGpuCsv(stdout) });
      },
    );
  });
}

/**
 * The GPU that a process will see first; null when nothing says which. Without `CUDA_DEVICE_ORDER=PCI_BUS_ID` CUDA counts
 * the fastest first, and nvidia-smi by the bus: a number tells only GPUs of the same kind apart.
 */
export function firstVisibleGpu(
  gpus: readonly GpuFacts[],
  env: EnvironmentVariables,
): GpuFacts | null {
  const [first] = gpus;
  const visible = env['CUDA_VISIBLE_DEVICES']?.split(',')[0]?.trim() ?? '0';
  if (visible.startsWith('GPU-')) {
    return gpus.find(({ gpuUuid }) => gpuUuid?.startsWith(visible) === true) ?? null;
  }
  if (first === undefined || !/^\d+$/.test(visible)) return null;
  const isOrdered =
    env['CUDA_DEVICE_ORDER'] === 'PCI_BUS_ID' ||
    gpus.every(({ gpuName }) => gpuName === first.gpuName);
  return isOrdered ? (gpus[Number(visible)] ?? null) : { ...UNKNOWN_GPU, driver: first.driver };
}

const UNKNOWN_GPU: GpuFacts = { gpuName: null, gpuUuid: null, driver: null, gpuMemoryMib: null };

function reasonOf(error: Error): string {
  return 'code' in error && error.code === 'ENOENT' ? 'it is not installed' : 'it failed';
}

/** `NVIDIA H200, GPU-…, 580.159.04, 143771`, one line a GPU. `[N/A]` and the like are no values. */
export function parseGpuCsv(text: string): GpuFacts[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name, uuid, driver, memory] = line.split(',').map((part) => part.trim());
      return {
        gpuName: valueOf(name),
        gpuUuid: valueOf(uuid),
        driver: valueOf(driver),
        gpuMemoryMib: memory !== undefined && /^\d+$/.test(memory) ? Number(memory) : null,
      };
    });
}

function valueOf(text: string | undefined): string | null {
  return text === undefined || text === '' || /^\[.*\]$/.test(text) ? null : text;
}
