import { EXIT_CODES, type ExitCode, BenchError, errorText, EARLIER_WORDS, TAKEN_AS } from '../errors.ts';
import { clockRecordNames } from '../process/lock.ts';
import { type Io, withNamedStore } from './io.ts';
import { printable } from '../text/printable.ts';
import type { OutputOptions } from './define-command.ts';
import { sqliteRefusal } from '../store/file/store-file.ts';
import { withoutColor } from './process-io.ts';
import { SYSTEM_PROBLEMS } from './output-file.ts';

export async function execute(
  options: OutputOptions,
  given: Io,
  start: (io: Io) => Promise<ExitCode>,
): Promise<ExitCode> {
  const io = shown(given, options);
  if (clockRecordNames(io.env).length > 0) {
    const { releaseLeftClocks } = await import('../machine/clock-lock.ts');
    releaseLeftClocks(io.env, (line) => io.err(`bench: ${line}\n`));
  }
  const note = earlierWordsNote(options.failOn);
  if (note !== '') io.err(note);
  try {
    return options.redact === true
      ? await (await import('./redacted.ts')).redacted(io, options, start)
      : await start(io);
  } catch (error) {
    return explain(error, io);
  }
}

function shown(io: Io, { color, db, quiet }: OutputOptions): Io {
  const named = db === undefined ? io : { ...io, db, err: (text: string) => io.err(withNamedStore(text, db)) };
  const plain = color === false ? withoutColor(named) : named;
  return quiet === true ? quietly(plain) : plain;
}

/** Suppresses all standard error output except errors, which begin with `bench:`. */
function quietly(io: Io): Io {
  const isError = (text: string): boolean => text.startsWith('bench: ') || io.env['BENCH_DEBUG'] !== undefined;
  return { ...io, isInteractive: false, err: (text) => (isError(text) ? io.err(text) : undefined) };
}

/** Prints an error as lines on standard error. A stack trace is a defect. */
export function explain(error: unknown, io: Io): ExitCode {
  if (error instanceof BenchError) {
    for (const line of error.lines) io.err(`bench: ${printable(line)}\n`);
    debug(error, io);
    return error.exitCode;
  }
  if (io.signal.aborted) {
    io.err('bench: interrupted\n');
    return EXIT_CODES.interrupted;
  }
  const refusal = sqliteRefusal(error);
  const problem = refusal === null ? systemProblem(error) : `the store ${refusal}`;
  const defect = `this is a defect in bench: ${printable(errorText(error))} (set BENCH_DEBUG=1 for the stack)`;
  io.err(`bench: ${problem === null ? defect : printable(problem)}\n`);
  debug(error, io);
  return problem === null ? EXIT_CODES.internalError : EXIT_CODES.environmentLacking;
}

function systemProblem(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return null;
  const code = String(error.code);
  const where = 'path' in error ? String(error.path) : String(error.syscall);
  return `${where}: ${SYSTEM_PROBLEMS[code] ?? `${code} (${String(error.syscall)})`}`;
}

function debug(error: unknown, io: Io): void {
  if (io.env['BENCH_DEBUG'] && error instanceof Error) io.err(`${error.stack ?? ''}\n`);
}

/** A note about words of the previous version; empty if none was used. */
function earlierWordsNote(requested: readonly string[] = []): string {
  const taken = EARLIER_WORDS.filter((word) => requested.includes(word)).map((word) => `${word} as ${TAKEN_AS[word]}`);
  return taken.length === 0 ? '' : `note: --fail-on takes ${taken.join(', and ')}, in this version only\n`;
}
