import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { type Lock, lockHolder, tryAcquire } from '../../src/process/lock.ts';
import { thisOwner } from '../../src/process/process-identity.ts';
import { finished, ROOT, temporaryFolder } from '../support/bench.ts';

const SPANS = 10;
const SCRIPT = join(ROOT, 'test', 'support', 'lock-spans.ts');
/** In a PID namespace of its own, as in a container: there it is process 1. */
const CONTAINED = ['unshare', '--pid', '--fork', '--mount-proc'];

function noContainerBecause(): string | null {
  const [file = '', ...args] = CONTAINED;
  try {
    execFileSync(file, [...args, 'true'], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const noContainer = noContainerBecause();
if (noContainer !== null) process.stderr.write(`no PID namespaces here: ${noContainer}\n`);

/** Processes that take one lock again and again, and how often two of them had it. */
async function contend(processes: number, wrapper: readonly string[]): Promise<unknown[]> {
  const folder = temporaryFolder();
  const ended = Array.from({ length: processes }, (_, number) => {
    const [file = '', ...args] = [...wrapper, process.execPath, SCRIPT, folder];
    return finished(spawn(file, [...args, String(number), String(processes), String(SPANS)]));
  });
  const printed = await Promise.all(ended);
  expect(readdirSync(folder).filter((name) => !name.startsWith('started-'))).toEqual(['gpu.lock']);
  return printed.map(({ stdout, stderr }) => stdout || stderr);
}

describe('a lock that processes take again and again', () => {
  const alone = JSON.stringify({ taken: SPANS, overlaps: 0 });

  test('is never held by two of them', async () => {
    expect(await contend(8, [])).toEqual(Array.from({ length: 8 }, () => alone));
  }, 120_000);

  test.skipIf(noContainer !== null)(
    'also not where both have the same number, in two containers',
    async () => {
      expect(await contend(2, CONTAINED)).toEqual([alone, alone]);
    },
    120_000,
  );
});

function lockPath(): string {
  return join(temporaryFolder(), 'a.lock');
}

function taken(path: string): Lock {
  const attempt = tryAcquire(path);
  if (attempt.kind !== 'taken') throw new Error('held');
  return attempt.lock;
}

function isFree(path: string): boolean {
  const attempt = tryAcquire(path);
  if (attempt.kind === 'taken') attempt.lock.release();
  return attempt.kind === 'taken';
}

describe('a lock', () => {
  test('is held by one, also within one process; its file stays, and says nothing afterwards', () => {
    const path = lockPath();
    expect(lockHolder(path)).toBeNull();
    const lock = taken(path);
    const holder = { pid: process.pid, host: hostname() };
    expect(tryAcquire(path)).toEqual({ kind: 'held', holder });
    expect(lockHolder(path)).toEqual(holder);
    lock.release();
    lock.release();
    expect([lockHolder(path), readFileSync(path, 'utf8'), isFree(path)]).toEqual([null, '', true]);
  });

  test('what the file says counts for nothing: not a process, not a time', () => {
    const path = lockPath();
    const left = thisOwner();
    for (const text of ['', '{"pid": 12', JSON.stringify(left), JSON.stringify({ ...left, bootId: 'x', host: 'y' })]) {
      for (const awayMs of [-100_000, 365 * 86_400_000]) {
        writeFileSync(path, text);
        const then = new Date(Date.now() + awayMs);
        utimesSync(path, then, then);
        expect(lockHolder(path)).toBeNull();
        expect(isFree(path)).toBe(true);
      }
    }
  });

  test('no link is followed and nothing else is written to', () => {
    const path = lockPath();
    const other = join(path, '..', 'other');
    writeFileSync(other, 'mine');
    symlinkSync(other, path);
    expect(() => tryAcquire(path)).toThrow(/a\.lock: cannot be opened as a lock; remove it by hand$/);
    rmSync(path);
    mkdirSync(path);
    expect(() => tryAcquire(path)).toThrow(/cannot be opened as a lock/);
    expect(lockHolder(path)).toBeNull();
    expect(readFileSync(other, 'utf8')).toBe('mine');
  });
});
