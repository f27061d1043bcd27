import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';

import { EnvironmentLackingError, errorCode } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { type EnvironmentVariables, definedVariables } from './environment-variables.ts';

export type Answer = { readonly kind: 'answered'; readonly text: string; readonly stderr: string } | NoAnswer;

export type NoAnswer = { readonly kind: 'missing' } | { readonly kind: 'silent'; readonly afterS: number } | Refusal;

/** A program that failed, was ended by a signal, or could not be started. */
interface Refusal {
  readonly kind: 'refused';
  /** The last printed line, or why the program could not be started. */
  readonly problem: string;
  /** Null if there is no exit code; see `signal`. */
  readonly exitCode: number | null;
  /** The signal that ended it; null if none did. */
  readonly signal: string | null;
  readonly text: string;
  readonly stderr: string;
}

interface AskOptions {
  /** Default: the environment of this process. */
  readonly env?: EnvironmentVariables;
  readonly cwd?: string;
  /** 0 for no limit. */
  readonly timeoutMs?: number;
  /** Ends the program; the answer is then a refusal. */
  readonly signal?: AbortSignal;
}

const MAX_OUTPUT_BYTES = 256 << 20;
const MAX_PROBLEM = 300;

/**
 * Runs a program with an argument list, never a shell line. Never throws. It does not use execa, which takes longer to
 * load than most programs to answer.
 */
export function ask(file: string, args: readonly string[], options: AskOptions = {}): Promise<Answer> {
  const { cwd, signal, timeoutMs = 0 } = options;
  return new Promise((resolve) => {
    const settings = { ...settingsOf(options), cwd, signal, windowsHide: true };
    const child = execFile(file, [...args], settings, (error, text, stderr) => {
      if (error === null) resolve({ kind: 'answered', text, stderr });
      else if (error.code === 'ENOENT') resolve({ kind: 'missing' });
      else if (error.killed === true && timeoutMs > 0) resolve({ kind: 'silent', afterS: timeoutMs / 1000 });
      else {
        const exitCode = typeof error.code === 'number' ? error.code : null;
        const ended = `it failed with ${error.signal ?? `exit code ${exitCode}`} and printed nothing`;
        // Node's message about a program that failed repeats its whole command line.
        const problem = lastLine(text, stderr) ?? (typeof error.code === 'string' ? error.message : ended);
        resolve({ kind: 'refused', problem, exitCode, signal: error.signal ?? null, text, stderr });
      }
    });
    // Close standard input, because a program that reads from a terminal would wait.
    child.stdin?.end();
  });
}

interface AskNowOptions extends Pick<AskOptions, 'env' | 'timeoutMs'> {
  readonly descriptor?: number;
}

const TRIES_AFTER_SIGNAL = 3;

/**
 * Synchronous `ask`, which also works while this process exits. The program gets the descriptor of this process as
 * number 3.
 */
export function askNow(file: string, args: readonly string[], options: AskNowOptions = {}): Answer {
  for (let tries = 1; ; tries += 1) {
    const answer = askOnce(file, args, options);
    // A Ctrl-C in the terminal also ends the program.
    if (answer.kind !== 'refused' || answer.signal === null || tries === TRIES_AFTER_SIGNAL) return answer;
  }
}

function askOnce(file: string, args: readonly string[], options: AskNowOptions): Answer {
  const { descriptor, timeoutMs = 0 } = options;
  const done = spawnSync(file, [...args], {
    ...settingsOf(options),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe', ...(descriptor === undefined ? [] : [descriptor])],
  });
  // The output is null if the program could not be started.
  const [text, stderr] = [done.stdout ?? '', done.stderr ?? ''];
  if (done.status === 0) return { kind: 'answered', text, stderr };
  const code = done.error !== undefined && 'code' in done.error ? done.error.code : null;
  if (code === 'ENOENT') return { kind: 'missing' };
  if (code === 'ETIMEDOUT') return { kind: 'silent', afterS: timeoutMs / 1000 };
  const problem = lastLine(text, stderr) ?? done.error?.message ?? `it failed with exit code ${done.status}`;
  return { kind: 'refused', problem, exitCode: done.status, signal: done.signal, text, stderr };
}

/** Why a program gave no answer, in words that follow its name and a colon. */
export function problemOf(answer: NoAnswer): string {
  if (answer.kind === 'missing') return 'not found on PATH';
  return answer.kind === 'silent' ? `gave no answer in ${answer.afterS} s` : answer.problem;
}

function settingsOf({ env, timeoutMs = 0 }: Pick<AskOptions, 'env' | 'timeoutMs'>) {
  return {
    env: env === undefined ? undefined : definedVariables(env),
    timeout: timeoutMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: MAX_OUTPUT_BYTES,
  };
}

function lastLine(text: string, stderr: string): string | null {
  const line = (stderr.trim() || text.trim()).split('\n').at(-1)?.trim() ?? '';
  return line === '' ? null : printable(line).slice(0, MAX_PROBLEM);
}

/** True if a program can be started here. */
export function isInstalled(program: string): boolean {
  return askNow(program, ['--version']).kind !== 'missing';
}

/**
 * Content through a program such as `xz -dc`. The program ends with the reader.
 * @throws EnvironmentLackingError when the program cannot be started, or fails
 */
export async function* filteredThrough(
  source: AsyncIterable<Buffer>,
  program: string,
  args: readonly string[],
): AsyncGenerator<Buffer> {
  const child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'close').catch(() => [null]);
  // A program that ends early closes its standard input; its exit code says why.
  const fed = pipeline(source, child.stdin).catch((error: unknown) => (errorCode(error) === 'EPIPE' ? null : error));
  try {
    yield* child.stdout;
    const problem: unknown = await fed;
    if (problem instanceof Error) throw problem;
    const [code]: unknown[] = await ended;
    if (code !== 0) throw new EnvironmentLackingError(`${program} failed: the data may be damaged or incomplete`);
  } finally {
    child.kill('SIGKILL');
  }
}
