import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';

import { expect, onTestFinished } from 'vitest';

import type { Io } from '../../src/cli/io.ts';
import { BenchError } from '../../src/errors.ts';
import { definedVariables } from '../../src/process/environment-variables.ts';
import type { Invocation, Spawn } from '../../src/process/spawn.ts';
import { shellQuote } from '../../src/text/shell-quote.ts';
import { answer } from '../../src/trtexec/replay/answer.ts';
import { lookOf } from '../../src/cli/process-io.ts';
import { spawnProcess } from '../../src/process/spawn-process.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
const BENCH = join(ROOT, 'bin', 'bench.js');
const MAIN = pathToFileURL(join(ROOT, 'dist', 'cli.cjs')).href;

const LOCKS = join(tmpdir(), `bench-test-locks-${process.pid}`);

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface BenchOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  /** Of a call within this process. */
  readonly now?: Date;
}

interface Bundle {
  readonly main: (argv: readonly string[], io: Io) => Promise<number>;
}

/**
 * What `bench` does, in this process: with an environment, outputs and a signal of its own. It runs from the bundle, as
 * users have it: that loads ten times as fast as the sources.
 */
export async function bench(args: readonly string[], options: BenchOptions = {}): Promise<Finished> {
  const { cwd = ROOT } = options;
  // Imported folders with a relative path are looked for from the folder of the process, which is one for all calls.
  if (working > 0 && cwd !== process.cwd()) return benchProcess(args, options);
  const { main }: Bundle = await import(MAIN);
  const env = environmentOf(options);
  const look = lookOf({}, env);
  let stdout = '';
  let stderr = '';
  const io: Io = {
    cwd,
    env,
    now: () => options.now ?? new Date(),
    out: (text) => void (stdout += text),
    err: (text) => void (stderr += text),
    stdin: Readable.from([Buffer.from(options.input ?? '')]),
    isInteractive: false,
    look,
    errLook: look,
    spawn: spawnHere,
    signal: new AbortController().signal,
  };
  if (working === 0) process.chdir(cwd);
  working += 1;
  try {
    return asWritten(args, { code: await main(args, io), signal: null, stdout, stderr });
  } finally {
    working -= 1;
    if (working === 0) process.chdir(ROOT);
  }
}

/** Calls of `bench` that are at work in this process. */
let working = 0;

/** The environment that `bench` finds: that of the tests, but for what would make it depend on who runs them. */
function environmentOf({ env = {} }: BenchOptions): Readonly<Record<string, string | undefined>> {
  const all = {
    ...process.env,
    BENCH_DB: undefined,
    // A CI job that runs the tests is about a branch of its own.
    GITHUB_HEAD_REF: undefined,
    GITHUB_REF_NAME: undefined,
    CI_COMMIT_REF_NAME: undefined,
    BRANCH_NAME: undefined,
    // Tests of several files at once must not wait for each other's GPU.
    BENCH_LOCK_DIR: LOCKS,
    FORCE_COLOR: undefined,
    CI: '1',
    ...env,
  };
  return definedVariables(all);
}

/** Starts `bench` as a user does: as a child process, through bin/bench.js. */
export const startBench = (args: readonly string[], options: BenchOptions = {}): ChildProcess =>
  spawn(process.execPath, [BENCH, ...args], { cwd: options.cwd ?? ROOT, env: environmentOf(options) });

/** The same as `bench`, by a process of its own: for signals, several writers, limits, and what belongs to a process. */
export async function benchProcess(args: readonly string[], options: BenchOptions = {}): Promise<Finished> {
  const child = startBench(args, options);
  child.stdin?.end(options.input ?? '');
  return finished(child);
}

export function finished(child: ChildProcess): Promise<Finished> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve) => {
    child.on('close', (code, signal) => resolve(asWritten(child.spawnargs, { code, signal, stdout, stderr })));
  });
}

/** Of a call of `bench` with `expect(…).toEqual`: the exit code, nothing on standard output, and one line that says why. */
export function refusal(said: string | RegExp, code = 2): Finished {
  const source = typeof said === 'string' ? said.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`) : said.source;
  const line = new RegExp(String.raw`(?<![^])(?=bench: [^\n]*\n(?![^]))[^]*?(?:${source})`, 'm');
  return { code, signal: null, stdout: '', stderr: expect.stringMatching(line) };
}

/** Printed commands as they are written: that bench adds the store that was named is `cli/main.test.ts`'s. */
function asWritten(args: readonly string[], { stdout, stderr, ...ended }: Finished): Finished {
  const place = args.indexOf('--db');
  if (place === -1 || args.includes('--json')) return { ...ended, stdout, stderr };
  const named = ` --db ${shellQuote(args[place + 1] ?? '')}`;
  return { ...ended, stdout: stdout.replaceAll(named, ''), stderr: stderr.replaceAll(named, '') };
}

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(`${tmpdir()}/`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Such a folder, and the path of a store in it that nobody has made yet. */
export function temporaryStore(): { folder: string; db: string } {
  const folder = temporaryFolder();
  return { folder, db: join(folder, 'bench.sqlite') };
}

/** The same for several tests of a file: gone when all of them are over. To be called in `beforeAll`. */
export function sharedFolder(): string {
  const folder = mkdtempSync(`${tmpdir()}/`);
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

/** What is left at the end of a test file. */
export function removeSharedFolders(): void {
  for (const folder of [...folders.splice(0), LOCKS]) rmSync(folder, { recursive: true, force: true });
}

const REPLAY = join(ROOT, 'dist', 'replay.cjs');

/** What a program would have left. */
interface Answered {
  readonly stdout: Buffer | string;
  readonly stderr: Buffer | string;
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Starts a process, unless it is one that answers from recordings (`src/trtexec/replay/trtexec.ts`), or a stand-in for
 * trtexec where it just answers: they answer here, at a tenth of the cost, and have no process that could be ended.
 * Tests of replay itself, and of signals, start them.
 */
export const spawnHere: Spawn = async (invocation, signal, onStart) => {
  const program = invocation.args[0] === REPLAY ? replayOf(invocation) : await standIn(invocation);
  if (program === null || signal.aborted) return spawnProcess(invocation, signal, onStart);
  const startedAt = new Date();
  const start = performance.now();
  const { stdout, stderr, exitCode, signal: endedBy } = program();
  writeFileSync(invocation.stdoutPath, stdout);
  writeFileSync(invocation.stderrPath, stderr);
  return {
    exitCode: endedBy === null ? exitCode : null,
    signal: endedBy,
    timedOut: false,
    limit: null,
    cancelled: signal.aborted,
    logTooLong: false,
    startProblem: null,
    startedAt,
    wallS: (performance.now() - start) / 1000,
  };
};

function replayOf({ args, cwd, env }: Invocation): (() => Answered) | null {
  if (env['BENCH_REPLAY_TIMING'] === 'original') return null;
  const folder = env['BENCH_REPLAY_SET'] ?? '';
  const index = Number(env['BENCH_REPLAY_INDEX'] ?? 0);
  return () => {
    try {
      return answer(args.slice(1), { folder, cwd, index, reportPath: env['BENCH_REPLAY_REPORT'] ?? null });
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      return { stdout: '', stderr: `replay error: ${error.message}\n`, exitCode: 2, signal: null };
    }
  };
}

interface Start extends Pick<Invocation, 'args' | 'env' | 'cwd'> {}

interface StandIn {
  readonly needsProcess: (start: Start) => boolean;
  /** What its process would print last, after a delay, is printed as all else. */
  readonly answer: (
    start: Start,
    streams: { readonly out: (text: string) => void; readonly err: (text: string) => void },
  ) => { readonly last: string; readonly exitCode: number };
}

const STAND_INS = ['stub', 'bisect'].map((name) => join(import.meta.dirname, `${name}-trtexec.mjs`));

async function standIn({ file, args, env, cwd }: Invocation): Promise<(() => Answered) | null> {
  const program = existsSync(file) ? STAND_INS.find((path) => realpathSync(file) === path) : undefined;
  if (program === undefined) return null;
  const standsIn: StandIn = await import(pathToFileURL(program.replace('-trtexec', '-answer')).href);
  const start = { args, env, cwd };
  if (standsIn.needsProcess(start)) return null;
  return () => {
    let stdout = '';
    let stderr = '';
    const { last, exitCode } = standsIn.answer(start, {
      out: (text) => void (stdout += text),
      err: (text) => void (stderr += text),
    });
    return { stdout: stdout + last, stderr, exitCode, signal: null };
  };
}
