import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, onTestFinished } from 'vitest';

export const ROOT = join(import.meta.dirname, '..', '..');
const BENCH = join(ROOT, 'bin', 'bench.js');

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
}

/** Starts `bench` as a user does: as a child process, through bin/bench.js. */
export function startBench(args: readonly string[], options: BenchOptions = {}): ChildProcess {
  return spawn(process.execPath, [BENCH, ...args], {
    cwd: options.cwd ?? ROOT,
    env: {
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
      ...options.env,
    },
  });
}

export async function bench(args: readonly string[], options: BenchOptions = {}): Promise<Finished> {
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
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
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
afterAll(() => {
  for (const folder of [...folders, LOCKS]) rmSync(folder, { recursive: true, force: true });
});
