import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { EnvironmentLackingError } from '../errors.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import {
  type LockAttempt,
  lockFileHolder,
  type LockUse,
  sweepUpLockFiles,
  type TakenLock,
  takeLockFile,
} from '../process/lock-file.ts';
import { makeLockFolder } from '../process/lock-folder.ts';
import { endOrphans } from '../process/marked-processes.ts';
import { thisOwner } from '../process/process-owner.ts';
import type { Invocation, Spawn } from '../process/spawn.ts';

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;

/** The lock of a GPU: what loads it, one process at a time, whoever started it and for whatever store. */
export class GpuLock {
  private readonly path: string;
  private readonly use: Required<LockUse>;

  /**
   * @param name UUID of the GPU or MIG device, or what stands for it where no nvidia-smi tells one
   * @param onNote is told what was ended that a killed bench had left on the GPU
   */
  constructor(name: string, env: EnvironmentVariables, onNote: (text: string) => void) {
    const folder = makeLockFolder(env);
    sweepUpLockFiles(folder, '');
    this.path = join(folder, `gpu-${name.replace(/[^\w-]/g, '_')}.lock`);
    this.use = { makeFolder: () => makeLockFolder(env), endLeft: () => endOrphans(onNote) };
  }

  /**
   * Waits until the GPU is free.
   * @param onWait is told which process has it, once, when that takes longer than a moment
   */
  async take(signal: AbortSignal, onWait: (pid: number) => void): Promise<TakenLock> {
    let waitMs = FIRST_WAIT_MS;
    let isLeftEnded = false;
    for (;;) {
      signal.throwIfAborted();
      const attempt = this.try();
      if (attempt.kind === 'taken') return attempt;
      if (attempt.kind === 'stuck') {
        throw new EnvironmentLackingError(`${this.path}: cannot be taken; remove it by hand`);
      }
      if (attempt.isLeft && !isLeftEnded) {
        isLeftEnded = true;
        // What is another user's has to end by itself.
        this.use.endLeft();
      }
      // Not all at the same moment.
      await sleep(waitMs * (0.5 + Math.random()), undefined, { signal });
      if (waitMs < LONGEST_WAIT_MS) {
        waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5);
        if (waitMs === LONGEST_WAIT_MS) onWait(attempt.pid);
      }
    }
  }

  /**
   * In a folder that all share, what another user's dead process left cannot be removed: then the lock is the next file
   * beside it. Whoever has taken one looks at all the others once more, and gives way.
   */
  private try(): LockAttempt {
    for (const path of this.paths) {
      const attempt = takeLockFile(path, this.use);
      if (attempt.kind === 'stuck') continue;
      if (attempt.kind === 'held') return attempt;
      const others = this.paths.filter((other) => other !== path);
      const pid = others.map((other) => lockFileHolder(other)).find((holder) => holder !== null);
      if (pid === undefined || pid === null) return attempt;
      attempt.unlock();
      return { kind: 'held', pid, isLeft: false };
    }
    return { kind: 'stuck' };
  }

  private get paths(): string[] {
    return ['', '.2', '.3', '.4'].map((ending) => this.path + ending);
  }
}

/**
 * What stands for the UUID of a GPU where no nvidia-smi tells one: its number, which means something on this machine
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
  onWait: (pid: number) => void,
  settle: Settle,
): Spawn {
  return async (invocation, signal, onStart) => {
    const lock = await lockOf(invocation).take(signal, onWait);
    try {
      await settle(invocation, signal);
      return await spawn(invocation, signal, (pid) => {
        lock.holdFor(pid);
        onStart(pid);
      });
    } finally {
      lock.unlock();
    }
  };
}
