import { writeSync } from 'node:fs';

import { EXIT_CODES } from '../exit-codes.ts';
import type { Spawn } from '../process/spawn.ts';
import { type Look, makeLook } from '../terminal/look.ts';
import { jsonText } from '../text/printable.ts';

/** Everything of the process that a command may touch; tests hand over their own. */
export interface Io {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly stdin: AsyncIterable<Buffer>;
  /** Standard error is a terminal on which lines may be redrawn. */
  readonly isInteractive: boolean;
  readonly canAsk: boolean;
  readonly look: Look;
  readonly errLook: Look;
  readonly spawn: Spawn;
  /** Aborted by Ctrl-C and by signals that ask for the end. */
  readonly signal: AbortSignal;
}

const DEFAULT_COLUMNS = 100;
const MIN_COLUMNS = 40;

/** Signals that come within this time are one. */
const SAME_SIGNAL_MS = 1000;

/**
 * Output that cannot be written never ends the work. A reader that goes away (`bench trend | head`, a `tee` that died)
 * is no fault. Results that could not be written for another reason (a full disk, a terminal that is gone) are: one line
 * on standard error says so, and the exit code is 3 where it would have been 0.
 */
export function ignoreEpipe(): void {
  let problem: string | null = null;
  process.stdout.on('error', (error) => {
    if (!('code' in error) || error.code !== 'EPIPE') problem ??= error.message;
  });
  // Progress and warnings have nowhere else to go.
  process.stderr.on('error', () => {});
  process.on('exit', (code) => {
    if (problem === null) return;
    if (code === EXIT_CODES.fine) process.exitCode = EXIT_CODES.environmentLacking;
    try {
      writeSync(
        process.stderr.fd,
        `bench: standard output could not be written (${problem}): results are missing there\n`,
      );
    } catch {
      // Nor can this be said.
    }
  });
}

/** That of this process; signals that ask for the end abort it. To be called once. */
export function processIo(): Io {
  const { stdout, stderr, env } = process;
  const abort = new AbortController();
  let abortedMs: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // The handler stays: a library that cleans up at the end would otherwise take the signal for the last one.
    process.on(signal, () => {
      const now = Date.now();
      // `timeout`, CI and Ctrl-C reach a whole group: a launcher that hands it on must not make it a second one.
      if (abortedMs !== null && now - abortedMs > SAME_SIGNAL_MS) {
        process.exit(EXIT_CODES.interrupted);
      }
      abortedMs ??= now;
      abort.abort(signal);
    });
  }
  return {
    cwd: process.cwd(),
    env,
    now: () => new Date(),
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    stdin: process.stdin,
    isInteractive: stderr.isTTY === true && env['TERM'] !== 'dumb' && !env['CI'],
    canAsk: process.stdin.isTTY === true && stderr.isTTY === true && !env['CI'],
    look: lookOf(stdout, env),
    errLook: lookOf(stderr, env),
    // What most commands never need is loaded when something is started.
    spawn: async (...args) => (await import('../process/spawn.ts')).spawnProcess(...args),
    signal: abort.signal,
  };
}

interface OutputStream {
  readonly columns?: number;
  readonly isTTY?: boolean;
}

/** How wide an output is and whether it takes color: as the terminal says, or the environment. */
export function lookOf({ columns, isTTY }: OutputStream, env: Io['env']): Look {
  return makeLook(columnsOf(columns, env), wantsColour(env, isTTY === true));
}

function wantsColour(env: Io['env'], isTty: boolean): boolean {
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR'] && env['FORCE_COLOR'] !== '0') return true;
  return isTty && env['TERM'] !== 'dumb';
}

export function withoutColor(io: Io): Io {
  return { ...io, look: makeLook(io.look.columns, false), errLook: makeLook(io.errLook.columns, false) };
}

/** The terminal's width; `COLUMNS` where there is none, as in a pipe. */
function columnsOf(columns: number | undefined, env: Io['env']): number {
  const stated = columns ?? Number(env['COLUMNS'] ?? DEFAULT_COLUMNS);
  return Number.isFinite(stated) && stated > 0 ? Math.max(MIN_COLUMNS, Math.floor(stated)) : DEFAULT_COLUMNS;
}

/** Between two long calculations: lets Ctrl-C through. @throws when it was pressed */
export async function yieldToEventLoop({ signal }: Io): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

export function printLines(io: Io, lines: readonly string[]): void {
  if (lines.length > 0) io.out(`${lines.join('\n')}\n`);
}

/** A command's result: the documented object with `--json`, else the text that renders it. */
export function printResult<Output>(
  io: Io,
  { json = false }: { readonly json?: boolean },
  output: Output,
  text: (output: Output, look: Look) => readonly string[],
): void {
  if (json) io.out(`${jsonText(output)}\n`);
  else printLines(io, text(output, io.look));
}
