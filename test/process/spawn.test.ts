import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { type Invocation, spawnProcess } from '../../src/process/spawn.ts';
import { temporaryFolder } from '../support/bench.ts';
import { untilGone, writtenPids } from '../support/processes.ts';

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
    expect(missing).toMatchObject({ exitCode: null, startProblem: 'no such program' });
    writeFileSync(join(folder, 'text'), 'not a program');
    const text = await spawnProcess({ ...node(folder, ''), file: join(folder, 'text') }, never, noCallback);
    expect(text.startProblem).toBe('may not be executed');
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
    const result = await spawnProcess(node(folder, script), never, noCallback);
    expect(result.exitCode).toBe(0);
    for (const pid of await writtenPids(join(folder, 'pids'))) await untilGone(pid);
  });
});
