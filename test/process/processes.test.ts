import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, test, vi } from 'vitest';

import { Lock, lockHolder, tryAcquire } from '../../src/process/lock.ts';
import { identityOf } from '../../src/process/process-identity.ts';
import type { Invocation } from '../../src/process/spawn.ts';
import { inTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { finished, ROOT, temporaryFolder } from '../support/bench.ts';
import { untilGone, writtenPids } from '../support/processes.ts';
import { CappedLog, spawnProcess } from '../../src/process/spawn-process.ts';

function node(folder: string, script: string, more: Partial<Invocation> = {}): Invocation {
  return {
    file: process.execPath,
    args: ['-e', script],
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdoutPath: join(folder, 'out.log'),
    stderrPath: join(folder, 'err.log'),
    timeoutMs: 20_000,
    ...more,
  };
}

const never = new AbortController().signal;
const noCallback = (): void => {};

describe('one process', () => {
  test('its output goes to the files, byte for byte, and its exit code comes back', async () => {
    const folder = temporaryFolder();
    const script = `process.stdout.write(Buffer.from([0, 255, 10])); process.stderr.write('no'); process.exitCode = 7`;
    const result = await spawnProcess(node(folder, script), never, noCallback);
    expect(result).toMatchObject({ exitCode: 7, signal: null, timedOut: false, cancelled: false, startProblem: null });
    expect([...readFileSync(join(folder, 'out.log'))]).toEqual([0, 255, 10]);
    expect(readFileSync(join(folder, 'err.log'), 'utf8')).toBe('no');
    expect(result.wallS).toBeGreaterThan(0);
  });

  test('arguments are never read by a shell', async () => {
    const folder = temporaryFolder();
    const hostile = ['$(touch x)', '; touch x', '`touch x`', '| touch x', '> x', '*', '"\'', 'a\nb', '😀'];
    await spawnProcess(
      {
        ...node(folder, ''),
        args: ['-e', 'process.stdout.write(JSON.stringify(process.argv.slice(1)))', '--', ...hostile],
      },
      never,
      noCallback,
    );
    expect(JSON.parse(readFileSync(join(folder, 'out.log'), 'utf8'))).toEqual(hostile);
    expect(existsSync(join(folder, 'x'))).toBe(false);
  });

  test('only the environment that is given', async () => {
    const folder = temporaryFolder();
    const invocation = node(folder, 'process.stdout.write(Object.keys(process.env).sort().join())');
    await spawnProcess({ ...invocation, env: { ONE: '1' } }, never, noCallback);
    expect(readFileSync(join(folder, 'out.log'), 'utf8')).toBe('ONE');
  });

  test('a program that is not there, and one that may not be executed', async () => {
    const folder = temporaryFolder();
    const missing = await spawnProcess(
      { ...node(folder, ''), file: join(folder, 'no-such-program') },
      never,
      noCallback,
    );
    expect(missing).toMatchObject({ exitCode: null, startProblem: 'program not found' });
    writeFileSync(join(folder, 'text'), 'not a program');
    const text = await spawnProcess({ ...node(folder, ''), file: join(folder, 'text') }, never, noCallback);
    expect(text.startProblem).toBe('not executable');
  });
});

/** Ignores every polite signal, and starts a child that does so too. */
const STUBBORN = `
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setTimeout(() => {}, 60000)']);
  require('node:fs').writeFileSync('pids', process.pid + '\\n' + child.pid + '\\n');
  setTimeout(() => {}, 60000)`;

describe('ending a process', () => {
  test('that takes too long: with all that it started, though it ignores SIGTERM', async () => {
    const folder = temporaryFolder();
    const result = await spawnProcess(node(folder, STUBBORN, { timeoutMs: 800 }), never, noCallback);
    expect(result).toMatchObject({ timedOut: true, cancelled: false, exitCode: null });
    for (const pid of await writtenPids(join(folder, 'pids'))) await untilGone(pid);
  });

  test('that prints more than 1 GiB', async () => {
    const folder = temporaryFolder();
    const script = `require('node:fs').ftruncateSync(1, 2 ** 30 + 1); setTimeout(() => {}, 60000)`;
    const result = await spawnProcess(node(folder, script, { logCapBytes: 2000 }), never, noCallback);
    expect(result).toMatchObject({ logTooLong: true, timedOut: false, cancelled: false, signal: 'SIGTERM' });
    expect(readFileSync(join(folder, 'out.log'), 'utf8')).toContain('at least 1073739825 bytes were left out here');
  });

  test('what a process leaves behind does not outlive it', async () => {
    const folder = temporaryFolder();
    const script = `
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { stdio: 'ignore' });
      child.unref();
      require('node:fs').writeFileSync('pids', child.pid + '\\n');`;
    expect((await spawnProcess(node(folder, script), never, noCallback)).exitCode).toBe(0);
    for (const pid of await writtenPids(join(folder, 'pids'))) await untilGone(pid);
  });
});

/** 100 bytes with their number. */
const line = (number: number): string => `${String(number).padStart(99, '.')}\n`;
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => line(from + at)).join('');

/** What is left of a log of `count` lines with a cap of 2000 bytes. */
function logOf(count: number): string {
  const path = join(temporaryFolder(), 'out.log');
  const log = new CappedLog(path, 2000);
  appendFileSync(path, lines(0, count));
  log.finish();
  return readFileSync(path, 'utf8');
}

describe('a log that a process writes by itself', () => {
  test('is whole up to its cap', () => expect(logOf(20)).toBe(lines(0, 20)));

  test.each([21, 5000])('of %i lines keeps its first and its last ten', (count) => {
    const [, head, bytes, tail] =
      /^([^[]*)\[bench\] at least (\d+) bytes were left out here\n([^[]*)$/.exec(logOf(count)) ?? [];
    expect([head, lines(0, count).endsWith(tail ?? '-')]).toEqual([lines(0, 10), true]);
    expect(tail?.length).toBeGreaterThanOrEqual(900);
    expect(tail?.length).toBeLessThanOrEqual(1000);
    expect(Number(bytes)).toBe(count * 100 - 1000 - (tail?.length ?? 0));
  });

  test('gives what is new, once', () => {
    const path = join(temporaryFolder(), 'out.log');
    const log = new CappedLog(path);
    appendFileSync(path, 'one\n');
    expect(log.take()).toEqual({ text: 'one\n', size: 4 });
    expect(log.take()).toEqual({ text: '', size: 4 });
    appendFileSync(path, 'two\n');
    expect(log.take()).toEqual({ text: 'two\n', size: 8 });
    log.finish();
  });

  test('of one endless line is cut within it', () => {
    const path = join(temporaryFolder(), 'out.log');
    const log = new CappedLog(path, 2000);
    appendFileSync(path, 'x'.repeat(10_000));
    log.finish();
    const omitted = '\n[bench] at least 8000 bytes were left out here\n';
    expect(readFileSync(path, 'utf8').replace(omitted, '|')).toBe(`${'x'.repeat(1000)}|${'x'.repeat(1000)}`);
  });
});

describe('a folder in the temporary folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
    vi.stubEnv('TMPDIR', folder);
    return () => vi.unstubAllEnvs();
  });

  test('is gone when the work is done, also when it fails', async () => {
    const names = await inTemporaryFolder('work', async () => readdirSync(folder));
    expect(names).toEqual([expect.stringMatching(/^bench-work-\w{6}$/)]);
    await expect(inTemporaryFolder('work', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(['/nowhere/tmp', '/proc/nowhere'])('that is missing is named: %s', async (path) => {
    vi.stubEnv('TMPDIR', path);
    const problem = `${path}: the temporary folder cannot be used (ENOENT: no such file`;
    await expect(inTemporaryFolder('work', async () => {})).rejects.toThrow(problem);
  });
});

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

const lockPath = (): string => join(temporaryFolder(), 'a.lock');

function taken(path: string): Lock {
  const lock = tryAcquire(path);
  if (!(lock instanceof Lock)) throw new Error('held');
  return lock;
}

function isFree(path: string): boolean {
  const lock = tryAcquire(path);
  if (lock instanceof Lock) lock.release();
  return lock instanceof Lock;
}

describe('a lock', () => {
  test('is held by one, also within one process; its file stays, and says nothing afterwards', () => {
    const path = lockPath();
    expect(lockHolder(path)).toBeNull();
    const lock = taken(path);
    const holder = { pid: process.pid, host: hostname() };
    expect([tryAcquire(path), lockHolder(path)]).toEqual([holder, holder]);
    lock.release();
    lock.release();
    expect([lockHolder(path), readFileSync(path, 'utf8'), isFree(path)]).toEqual([null, '', true]);
  });

  test('what the file says counts for nothing: not a process, not a time', () => {
    const path = lockPath();
    const left = { ...identityOf(process.pid), host: hostname() };
    for (const text of ['', '{"pid": 12', JSON.stringify(left), JSON.stringify({ ...left, bootId: 'x', host: 'y' })]) {
      for (const awayMs of [-100_000, 365 * 86_400_000]) {
        writeFileSync(path, text);
        const then = new Date(Date.now() + awayMs);
        utimesSync(path, then, then);
        expect([lockHolder(path), isFree(path)]).toEqual([null, true]);
      }
    }
  });

  test('no link is followed and nothing else is written to', () => {
    const path = lockPath();
    const other = join(path, '..', 'other');
    writeFileSync(other, 'mine');
    symlinkSync(other, path);
    expect(() => tryAcquire(path)).toThrow(/a\.lock cannot be opened as a lock; remove it by hand$/);
    rmSync(path);
    mkdirSync(path);
    expect(() => tryAcquire(path)).toThrow(/cannot be opened as a lock/);
    expect([lockHolder(path), readFileSync(other, 'utf8')]).toEqual([null, 'mine']);
  });
});
