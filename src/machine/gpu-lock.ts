import { join } from 'node:path';

import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type Lock, type LockWait, acquire, makeLockFolder } from '../process/lock.ts';
import { endOrphans, thisOwner } from '../process/process-identity.ts';
import type { Invocation, Spawn } from '../process/spawn.ts';

/** Lock of a GPU. Only one process at a time may use the GPU, across users and stores. */
export class GpuLock {
  private readonly path: string;
  private readonly env: EnvironmentVariables;
  private readonly onNote: (text: string) => void;

  /**
   * @param name UUID of the GPU or MIG device, or a substitute without nvidia-smi
   * @param onNote called with the processes of a killed bench that were ended
   */
  constructor(name: string, env: EnvironmentVariables, onNote: (text: string) => void) {
    const folder = makeLockFolder(env);
    this.path = join(folder, `gpu-${name.replace(/[^\w-]/g, '_')}.lock`);
    this.env = env;
    this.onNote = onNote;
  }

  take(wait: LockWait): Promise<Lock> {
    return acquire(this.path, wait, {
      isShared: true,
      makeFolder: () => makeLockFolder(this.env),
      endLeft: () => endOrphans(this.onNote),
    });
  }
}

/** Name from host and number, because other machines may share the lock folder. `number` is null if not stated. */
export function unnamedGpu(number: number | null, env: EnvironmentVariables): string {
  // Slurm may show each task its GPU as number 0. These variables hold the numbers on the node.
  const slurm = env['SLURM_STEP_GPUS'] || env['SLURM_JOB_GPUS'];
  const { bootId, host } = thisOwner();
  return `device-${number ?? (slurm || env['CUDA_VISIBLE_DEVICES'] || 0)}-of-${bootId ?? host}`;
}

export type Settle = (invocation: Invocation, signal: AbortSignal) => Promise<void>;

/** Holds the lock of the GPU while a process runs; the wait does not count as run time. */
export function lockedSpawn(
  spawn: Spawn,
  lockOf: (invocation: Invocation) => GpuLock,
  onWait: LockWait['onWait'],
  settle: Settle,
): Spawn {
  return async (invocation, signal, onStart) => {
    const lock = await lockOf(invocation).take({ signal, onWait });
    try {
      await settle(invocation, signal);
      return await spawn({ ...invocation, locks: [...(invocation.locks ?? []), lock.descriptor] }, signal, (pid) => {
        lock.noteHolder(pid);
        onStart(pid);
      });
    } finally {
      lock.release();
    }
  };
}
