import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';

import { onTestFinished } from 'vitest';

import { type Io, lookOf } from '../../src/cli/io.ts';
import { shellQuote } from '../../src/text/shell-quote.ts';
import { spawnHere } from './spawn-here.ts';
import { definedVariables } from '../../src/process/environment-variables.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
const BENCH = join(ROOT, 'bin', 'bench.js');
const MAIN = pathToFileURL(join(ROOT, 'dist', 'cli.js')).href;

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
  if (namesRelativeFile(args, options)) return benchProcess(args, options);
  const { main }: Bundle = await import(MAIN);
  const env = environmentOf(options);
  const look = lookOf({}, env);
  let stdout = '';
  let stderr = '';
  const code = await main(args, {
    cwd: options.cwd ?? ROOT,
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
  });
  return asWritten(args, { code, signal: null, stdout, stderr });
}

/** Commands whose files are all found from `Io.cwd`. */
const BY_IO = ['ab', 'bisect', 'plan', 'run'];

/** Imported folders with a relative path are looked for from the folder of the process, whatever `Io.cwd` is. */
function namesRelativeFile([command = '', ...args]: readonly string[], { cwd = ROOT }: BenchOptions): boolean {
  if (cwd === process.cwd() || BY_IO.includes(command)) return false;
  return args.some((arg) => arg !== '' && !isAbsolute(arg) && existsSync(join(cwd, arg)));
}

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
export function startBench(args: readonly string[], options: BenchOptions = {}): ChildProcess {
  return spawn(process.execPath, [BENCH, ...args], { cwd: options.cwd ?? ROOT, env: environmentOf(options) });
}

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

/** Printed commands as they are written: that bench adds the store that was named is `name-store.test.ts`'s. */
function asWritten(args: readonly string[], { stdout, stderr, ...ended }: Finished): Finished {
  const place = args.indexOf('--db');
  if (place === -1 || args.includes('--json')) return { ...ended, stdout, stderr };
  const named = ` --db ${shellQuote(args[place + 1] ?? '')}`;
  return { ...ended, stdout: stdout.replaceAll(named, ''), stderr: stderr.replaceAll(named, '') };
}

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The same for several tests of a file: gone when all of them are over. To be called in `beforeAll`. */
export function sharedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

/** What is left at the end of a test file. */
export function removeSharedFolders(): void {
  for (const folder of [...folders.splice(0), LOCKS]) rmSync(folder, { recursive: true, force: true });
}
