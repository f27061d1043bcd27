import { hostname } from 'node:os';
import { join } from 'node:path';

import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type Lock, type LockWait, acquire, makeLockFolder } from '../process/lock.ts';
import { endOrphans, identityOf } from '../process/process-identity.ts';

/**
 * Takes the lock of a GPU. Only one process at a time may use the GPU, across users and stores.
 * @param name UUID of the GPU or MIG device, or a substitute without nvidia-smi
 * @param onNote called with the processes of a killed bench that were ended
 */
export function takeGpu(
  name: string,
  env: EnvironmentVariables,
  onNote: (text: string) => void,
  wait: LockWait,
): Promise<Lock> {
  const makeFolder = (): string => makeLockFolder(env);
  const path = join(makeFolder(), `gpu-${name.replace(/[^\w-]/g, '_')}.lock`);
  return acquire(path, wait, { isShared: true, makeFolder, endLeft: () => endOrphans(onNote) });
}

/** Name from host and number, because other machines may share the lock folder. `number` is null if not stated. */
export function unnamedGpu(number: number | null, env: EnvironmentVariables): string {
  // Slurm may show each task its GPU as number 0. These variables hold the numbers on the node.
  const slurm = env['SLURM_STEP_GPUS'] || env['SLURM_JOB_GPUS'];
  return `device-${number ?? (slurm || env['CUDA_VISIBLE_DEVICES'] || 0)}-of-${identityOf(process.pid).bootId ?? hostname()}`;
}
