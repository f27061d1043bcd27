import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { GpuLock, unnamedGpu } from '../../src/run/gpu-lock.ts';
import { identityOf } from '../../src/run/process-identity.ts';
import { thisOwner } from '../../src/run/process-owner.ts';
import { temporaryFolder } from '../support/bench.ts';

const never = new AbortController().signal;
const GPU = 'GPU-1';

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
    const unlock = await new GpuLock(GPU, env).take(abort.signal, (pid) => {
      holder = pid;
      abort.abort();
    });
    unlock();
  } catch {
    // Given up, as a person would.
  }
  return holder;
}

describe('the lock of a GPU', () => {
  test('is there while it is held, and gone afterwards', async () => {
    const { env, path } = lockFolder();
    const unlock = await new GpuLock(GPU, env).take(never, () => {});
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
    const { utimesSync } = await import('node:fs');
    const longAgo = new Date(Date.now() - 100_000);
    utimesSync(path, longAgo, longAgo);
    expect(await waitsFor(env)).toBeNull();
  });

  test('what another user left and nobody may remove is passed by', async () => {
    const { env, path } = lockFolder();
    // A folder in its place can neither be linked over nor removed as a file.
    mkdirSync(path);
    writeFileSync(join(path, 'x'), '');
    const unlock = await new GpuLock(GPU, env).take(never, () => {});
    expect(readdirSync(join(path, '..')).toSorted()).toEqual([
      `gpu-${GPU}.lock`,
      `gpu-${GPU}.lock.2`,
    ]);
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
