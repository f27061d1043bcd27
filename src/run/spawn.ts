import { closeSync, createWriteStream, openSync, type WriteStream } from 'node:fs';

import { execa } from 'execa';

import { definedVariables, type EnvironmentVariables } from './environment-variables.ts';

/** One process to start: an argument list, never a shell line. */
export interface Invocation {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly timeoutMs: number;
  /** What it does is measured: nothing may disturb it. */
  readonly isTimed?: boolean;
}

export interface ProcessResult {
  /** Null when it could not be started or was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly cancelled: boolean;
  /** Why it could not be started; null when it was. */
  readonly startProblem: string | null;
  readonly startedAt: Date;
  readonly wallS: number;
}

export type Spawn = (
  invocation: Invocation,
  signal: AbortSignal,
  onStart: (pid: number) => void,
) => Promise<ProcessResult>;

/** Between the polite signal and the other one. */
const FORCE_KILL_AFTER_MS = 5_000;

/**
 * Starts the process in a group of its own, so that it can be ended with all that it started, and lets it write
 * straight into files: nothing is lost when this program is killed.
 */
export const spawnProcess: Spawn = async (invocation, signal, onStart) => {
  const stdout = openOutput(invocation.stdoutPath);
  const stderr = openOutput(invocation.stderrPath);
  const startedAt = new Date();
  const start = performance.now();
  try {
    const subprocess = execa(invocation.file, invocation.args, {
      cwd: invocation.cwd,
      env: definedVariables(invocation.env),
      extendEnv: false,
      stdin: 'ignore',
      stdout: stdout.stream,
      stderr: stderr.stream,
      buffer: false,
      reject: false,
      timeout: invocation.timeoutMs,
      cancelSignal: signal,
      killDescendants: true,
      forceKillAfterDelay: FORCE_KILL_AFTER_MS,
    });
    if (subprocess.pid !== undefined) onStart(subprocess.pid);
    const result = await subprocess;
    // What the process itself left running must not load the machine under the next one.
    endGroup(subprocess.pid);
    const didStart = result.exitCode !== undefined || result.signal !== undefined;
    return {
      exitCode: result.exitCode ?? null,
      signal: result.signal ?? null,
      timedOut: result.timedOut,
      cancelled: result.isCanceled,
      startProblem: didStart || result.timedOut || result.isCanceled ? null : startProblem(result),
      startedAt,
      wallS: (performance.now() - start) / 1000,
    };
  } finally {
    closeSync(stdout.fd);
    closeSync(stderr.fd);
  }
};

/** A stream with a descriptor is handed to the process as it is: the bytes do not pass through this program. */
function openOutput(path: string): { readonly fd: number; readonly stream: WriteStream } {
  const fd = openSync(path, 'w');
  return { fd, stream: createWriteStream(path, { fd, autoClose: false }) };
}

interface FailedStart {
  readonly code?: string | undefined;
  readonly shortMessage?: string | undefined;
}

function startProblem(result: FailedStart): string {
  if (result.code === 'ENOENT') return 'no such program';
  if (result.code === 'EACCES') return 'may not be executed';
  return result.shortMessage ?? 'could not be started';
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is gone, as it should be.
  }
}
