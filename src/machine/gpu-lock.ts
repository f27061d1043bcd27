import { join } from 'node:path';

import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { removeEarlierLeftovers } from '../process/earlier-lock.ts';
import { acquire, type Lock, type LockWait } from '../process/lock.ts';
import { makeLockFolder } from '../process/lock-folder.ts';
import { endOrphans } from '../process/marked-processes.ts';
import { thisOwner } from '../process/process-identity.ts';
import type { Invocation, Spawn } from '../process/spawn.ts';

/** The lock of a GPU: what loads it, one process at a time, whoever started it and for whatever store. */
export class GpuLock {
  private readonly path: string;
  private readonly env: EnvironmentVariables;
  private readonly onNote: (text: string) => void;

  /**
   * @param name UUID of the GPU or MIG device, or its substitute where no nvidia-smi states one
   * @param onNote called with what was ended that a killed bench had left on the GPU
   */
  constructor(name: string, env: EnvironmentVariables, onNote: (text: string) => void) {
    const folder = makeLockFolder(env);
    removeEarlierLeftovers(folder, '');
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

/**
 * Substitute for the UUID of a GPU where no nvidia-smi states one: its number, which means something on this machine
 * only, though others may share the folder of locks.
 * @param number what the command line says; null when it says nothing
 */
export function unnamedGpu(number: number | null, env: EnvironmentVariables): string {
  // Slurm may show each task one GPU, to all of them as number 0. These are the numbers of the node.
  const slurm = env['SLURM_STEP_GPUS'] || env['SLURM_JOB_GPUS'];
  const { bootId, host } = thisOwner();
  return `device-${number ?? (slurm || env['CUDA_VISIBLE_DEVICES'] || 0)}-of-${bootId ?? host}`;
}

/** What is done with a GPU before a timed run, while nobody else may use it. */
export type Settle = (invocation: Invocation, signal: AbortSignal) => Promise<void>;

/**
 * Starts processes only while the lock of their GPU is held; its time counts for nobody.
 * @param lockOf the lock for a command line
 */
export function lockedSpawn(
  spawn: Spawn,
  lockOf: (invocation: Invocation) => GpuLock,
  onWait: LockWait['onWait'],
  settle: Settle,
): Spawn {
  return async (invocation, signal, onStart) => {
    for (;;) {
      const lock = await lockOf(invocation).take({ signal, onWait });
      try {
        await settle(invocation, signal);
        // Its file or folder may have been removed meanwhile: then somebody else may have the GPU.
        if (!lock.isInPlace()) continue;
        return await spawn({ ...invocation, lock: lock.descriptor }, signal, (pid) => {
          lock.noteStarted(pid);
          onStart(pid);
        });
      } finally {
        lock.release();
      }
    }
  };
}
