import { writeSync } from 'node:fs';

import { EXIT_CODES } from '../errors.ts';
import { type Look, makeLook } from '../terminal/look.ts';
import type { Io } from './io.ts';

const DEFAULT_COLUMNS = 100;

const MIN_COLUMNS = 40;

/** Signals within this time count as one. */
const SAME_SIGNAL_MS = 1000;

/**
 * Output errors never stop the work. A closed reader (`bench trend | head`) is not an error. A full disk or a lost
 * terminal changes exit code 0 to 3 and prints one line on standard error.
 */
export function ignoreEpipe(): void {
  let problem: string | null = null;
  process.stdout.on('error', (error) => {
    if (!('code' in error) || error.code !== 'EPIPE') problem ??= error.message;
  });
  process.stderr.on('error', () => {});
  process.on('exit', (code) => {
    if (problem === null) return;
    if (code === EXIT_CODES.fine) process.exitCode = EXIT_CODES.environmentLacking;
    try {
      writeSync(
        process.stderr.fd,
        `bench: standard output could not be written (${problem}): results are missing there\n`,
      );
    } catch {}
  });
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    process.stderr.write('bench: the working folder is gone: change to another one\n');
    process.exit(EXIT_CODES.environmentLacking);
  }
}

/** Call it once: signals abort its `signal`. */
export function processIo(): Io {
  const { stdout, stderr, env } = process;
  const abort = new AbortController();
  let abortedMs: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Do not remove the handler: a library that cleans up at exit would treat the signal as the last one.
    process.on(signal, () => {
      const now = Date.now();
      // `timeout`, CI and Ctrl-C signal the whole process group. A launcher that forwards the signal must not make it
      // count twice.
      if (abortedMs !== null && now - abortedMs > SAME_SIGNAL_MS) {
        process.exit(EXIT_CODES.interrupted);
      }
      abortedMs ??= now;
      abort.abort(signal);
    });
  }
  return {
    cwd: workingFolder(),
    env,
    now: () => new Date(),
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    stdin: process.stdin,
    isInteractive: stderr.isTTY === true && env['TERM'] !== 'dumb' && !env['CI'],
    // If standard output is a pipe, as in `bench ls cells | head`, standard error still has the width.
    look: lookOf({ columns: stdout.columns ?? stderr.columns, isTTY: stdout.isTTY }, env),
    errLook: lookOf(stderr, env),
    // Loaded only when a process is started.
    spawn: async (...args) => (await import('../process/spawn-process.ts')).spawnProcess(...args),
    signal: abort.signal,
  };
}

/** Takes width and color from the terminal, whose width may change, or from the environment. */
export function lookOf(stream: { readonly columns?: number; readonly isTTY?: boolean }, env: Io['env']): Look {
  const isTty = stream.isTTY === true;
  return makeLook(() => columnsOf(stream.columns, env), wantsColour(env, isTty));
}

function wantsColour(env: Io['env'], isTty: boolean): boolean {
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR'] && env['FORCE_COLOR'] !== '0') return true;
  return isTty && env['TERM'] !== 'dumb';
}

export function withoutColor(io: Io): Io {
  return { ...io, look: withoutStyle(io.look), errLook: withoutStyle(io.errLook) };
}

function withoutStyle(look: Look): Look {
  return makeLook(() => look.columns, false);
}

/** The terminal's width, or `COLUMNS` in a pipe. */
function columnsOf(columns: number | undefined, env: Io['env']): number {
  const stated = columns ?? Number(env['COLUMNS'] ?? DEFAULT_COLUMNS);
  return Number.isFinite(stated) && stated > 0 ? Math.max(MIN_COLUMNS, Math.floor(stated)) : DEFAULT_COLUMNS;
}
