import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { describe, expect, onTestFinished, test, vi } from 'vitest';

import { GpuLock, unnamedGpu } from '../../src/machine/gpu-lock.ts';
import { identityOf } from '../../src/process/process-identity.ts';
import { thisOwner } from '../../src/process/process-owner.ts';
import { ROOT, temporaryFolder } from '../support/bench.ts';
import { isGone, untilGone } from '../support/processes.ts';

const never = new AbortController().signal;
const GPU = 'GPU-1';
const gpuLock = (env: Record<string, string>): GpuLock => new GpuLock(GPU, env, () => {});

function lockFolder(): { env: Record<string, string>; path: string } {
  const folder = join(temporaryFolder(), 'locks');
  mkdirSync(folder);
  return { env: { BENCH_LOCK_DIR: folder }, path: join(folder, `gpu-${GPU}.lock`) };
}

/** The pid that is waited for; null when the lock was free. */
async function waitsFor(env: Record<string, string>): Promise<number | null> {
  const abort = new AbortController();
  let holder: number | null = null;
  try {
    const { unlock } = await gpuLock(env).take(abort.signal, (pid) => {
      holder = pid;
      abort.abort();
    });
    unlock();
  } catch {
    // Given up, as a person would.
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
  return Number(said);
}

describe('the lock of a GPU', () => {
  test('is there while it is held, and gone afterwards', async () => {
    const { env, path } = lockFolder();
    const { unlock } = await gpuLock(env).take(never, () => {});
    expect(readdirSync(join(path, '..'))).toEqual([`gpu-${GPU}.lock`]);
    expect(await waitsFor(env)).toBe(process.pid);
    unlock();
    expect(readdirSync(join(path, '..'))).toEqual([]);
    expect(await waitsFor(env)).toBeNull();
  });

  test('one whose process is gone counts for nothing', async () => {
    const { env, path } = lockFolder();
    const gone = { ...thisOwner(), ...identityOf(process.pid), startTicks: '1' };
    writeFileSync(path, JSON.stringify(gone));
    expect(await waitsFor(env)).toBeNull();
    // Not even one that was cut off while it was written by another program.
    writeFileSync(path, '{"pid": 12');
    expect(await waitsFor(env)).toBeNull();
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  test('one of another machine or container counts while it shows life', async () => {
    const { env, path } = lockFolder();
    const elsewhere = { ...thisOwner(), bootId: 'another', host: `${hostname()}-2`, pid: 7 };
    writeFileSync(path, JSON.stringify(elsewhere));
    expect(await waitsFor(env)).toBe(7);
    // A minute and a half of silence is enough; and nobody's clock is a year ahead.
    for (const awayMs of [-100_000, 365 * 86_400_000]) {
      writeFileSync(path, JSON.stringify(elsewhere));
      const then = new Date(Date.now() + awayMs);
      utimesSync(path, then, then);
      expect(await waitsFor(env)).toBeNull();
    }
  });

  test('its folder may be removed while it is held: it is made again, and the lock put back', async () => {
    const { env, path } = lockFolder();
    const { unlock } = await gpuLock(env).take(never, () => {});
    rmSync(join(path, '..'), { recursive: true });
    unlock();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const lock = gpuLock(env);
    rmSync(join(path, '..'), { recursive: true });
    const again = await lock.take(never, () => {});
    rmSync(join(path, '..'), { recursive: true });
    vi.advanceTimersByTime(20_000);
    expect(await waitsFor(env)).toBe(process.pid);
    again.unlock();
    expect(await waitsFor(env)).toBeNull();
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  test('what benches left that were killed while they took it is removed', () => {
    const { env, path } = lockFolder();
    const gone = JSON.stringify({ ...thisOwner(), startTicks: '1' });
    // No process has such a number.
    for (const ending of ['.4194305', '.4194305-00ff', '.2.4194305-00ff', '.after-0f.4194305-00ff']) {
      writeFileSync(path + ending, ending === '.4194305' ? '' : gone);
    }
    writeFileSync(`${path}.after-0f`, gone);
    writeFileSync(`${path}.${process.pid}-00ff`, JSON.stringify(thisOwner()));
    gpuLock(env);
    expect(readdirSync(join(path, '..'))).toEqual([`gpu-${GPU}.lock.${process.pid}-00ff`]);
  });

  test('a bench is killed: the GPU is in use until what it had started has ended', async () => {
    const { env } = lockFolder();
    const holder = startHolder(env);
    const pid = await pidSaid(holder);
    holder.kill('SIGKILL');
    await once(holder, 'close');
    // It carries no mark of a killed bench, as one of another user: nobody may end it.
    expect(isGone(pid)).toBe(false);
    expect(await waitsFor(env)).toBe(pid);
    const taking = gpuLock(env).take(never, () => {});
    process.kill(-pid, 'SIGKILL');
    (await taking).unlock();
    await untilGone(pid);
    expect(await waitsFor(env)).toBeNull();
  });

  test('what another user left and nobody may remove is passed by', async () => {
    const { env, path } = lockFolder();
    // A folder in its place can neither be linked over nor removed as a file.
    mkdirSync(path);
    writeFileSync(join(path, 'x'), '');
    const { unlock } = await gpuLock(env).take(never, () => {});
    expect(readdirSync(join(path, '..')).toSorted()).toEqual([`gpu-${GPU}.lock`, `gpu-${GPU}.lock.2`]);
    expect(await waitsFor(env)).toBe(process.pid);
    unlock();
  });

  test('without a UUID it is of this machine alone, and of the number that Slurm gives the GPU there', () => {
    const { bootId, host } = thisOwner();
    const here = bootId ?? host;
    expect(unnamedGpu(null, {})).toBe(`device-0-of-${here}`);
    expect(unnamedGpu(null, { CUDA_VISIBLE_DEVICES: '2' })).toBe(`device-2-of-${here}`);
    // Each task is shown its one GPU as number 0.
    const task = { SLURM_JOB_GPUS: '3', CUDA_VISIBLE_DEVICES: '0' };
    expect(unnamedGpu(null, task)).toBe(`device-3-of-${here}`);
    expect(unnamedGpu(null, { ...task, SLURM_STEP_GPUS: '1' })).toBe(`device-1-of-${here}`);
    expect(unnamedGpu(4, task)).toBe(`device-4-of-${here}`);
  });
});
