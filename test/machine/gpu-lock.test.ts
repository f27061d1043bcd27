import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { InterruptedError } from '../../src/errors.ts';
import { Lock, type LockHolder, type LockWait, tryAcquire } from '../../src/process/lock.ts';
import { identityOf } from '../../src/process/process-identity.ts';
import { ROOT, temporaryFolder } from '../support/bench.ts';
import { isGone, untilGone } from '../support/processes.ts';
import { takeGpu, unnamedGpu } from '../../src/run/gpu-worker.ts';

const waiting = { signal: new AbortController().signal, onWait: () => {} };
const GPU = 'GPU-1';
const take = (env: Record<string, string>, wait: LockWait = waiting) => takeGpu(GPU, env, () => {}, wait);

function lockFolder(): { env: Record<string, string>; path: string } {
  const folder = join(temporaryFolder(), 'locks');
  mkdirSync(folder);
  return { env: { BENCH_LOCK_DIR: folder }, path: join(folder, `gpu-${GPU}.lock`) };
}

/** The pid that is waited for; null when the lock was free. */
async function waitsFor(env: Record<string, string>): Promise<number | null> {
  const abort = new AbortController();
  let holder: number | null = null;
  const onWait = ({ pid }: LockHolder): void => {
    holder = pid;
    abort.abort();
  };
  try {
    (await take(env, { signal: abort.signal, onWait })).release();
  } catch (error) {
    // Given up, as a person would.
    if (!(error instanceof InterruptedError)) throw error;
  }
  return holder;
}

/** A process that runs another one under the lock and would wait for it. */
function startHolder(env: Record<string, string>): ChildProcess {
  const script = join(ROOT, 'test', 'support', 'locked-sleeper.ts');
  return spawn(process.execPath, [script, GPU], { env: { ...process.env, ...env } });
}

async function pidSaid({ stdout }: ChildProcess): Promise<number> {
  const [said]: unknown[] = stdout === null ? [] : await once(stdout, 'data');
  const pid = Number(said);
  expect(pid).toBeGreaterThan(1);
  return pid;
}

describe('the lock of a GPU', () => {
  test('is waited for while it is held', async () => {
    const { env, path } = lockFolder();
    const lock = await take(env);
    expect([readdirSync(join(path, '..')), await waitsFor(env)]).toEqual([[`gpu-${GPU}.lock`], process.pid]);
    lock.release();
    expect(await waitsFor(env)).toBeNull();
  });

  test('its folder may be removed: it is made again', async () => {
    const { env, path } = lockFolder();
    rmSync(join(path, '..'), { recursive: true });
    const taken = await take(env);
    expect(await waitsFor(env)).toBe(process.pid);
    taken.release();
  });

  test('a bench is killed: the GPU is in use until what it had started has ended', async () => {
    const { env } = lockFolder();
    const holder = startHolder(env);
    const pid = await pidSaid(holder);
    holder.kill('SIGKILL');
    await once(holder, 'close');
    // It carries no mark of a killed bench, as one of another user: nobody may end it.
    expect([isGone(pid), await waitsFor(env)]).toEqual([false, pid]);
    const taking = take(env);
    process.kill(-pid, 'SIGKILL');
    (await taking).release();
    await untilGone(pid);
    expect(await waitsFor(env)).toBeNull();
  });

  test('a file that may only be read, as one of another user, is locked, too', async () => {
    const { env, path } = lockFolder();
    writeFileSync(path, '', { mode: 0o444 });
    const lock = await take(env);
    expect(tryAcquire(path)).not.toBeInstanceOf(Lock);
    lock.release();
    expect(await waitsFor(env)).toBeNull();
  });

  test('without a UUID it is of this machine alone, and of the number that Slurm gives the GPU there', () => {
    const here = identityOf(process.pid).bootId ?? hostname();
    expect(unnamedGpu(null, {})).toBe(`device-0-of-${here}`);
    expect(unnamedGpu(null, { CUDA_VISIBLE_DEVICES: '2' })).toBe(`device-2-of-${here}`);
    // Each task is shown its one GPU as number 0.
    const task = { SLURM_JOB_GPUS: '3', CUDA_VISIBLE_DEVICES: '0' };
    expect(unnamedGpu(null, task)).toBe(`device-3-of-${here}`);
    expect(unnamedGpu(null, { ...task, SLURM_STEP_GPUS: '1' })).toBe(`device-1-of-${here}`);
    expect(unnamedGpu(4, task)).toBe(`device-4-of-${here}`);
  });
});
