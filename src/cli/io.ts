import { EXIT_CODES, type ExitCode } from '../errors.ts';
import type { Spawn } from '../process/spawn.ts';
import { type Look } from '../terminal/look.ts';
import { jsonText } from '../text/printable.ts';
import { shellQuote } from '../text/shell-quote.ts';

/** The parts of the process that a command may use; tests pass their own. */
export interface Io {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly stdin: AsyncIterable<Buffer>;
  /** Whether lines on standard error may be redrawn. */
  readonly isInteractive: boolean;
  readonly look: Look;
  readonly errLook: Look;
  readonly spawn: Spawn;
  /** The store as named on the command line. */
  readonly db?: string;
  /** Aborted by Ctrl-C and termination signals. */
  readonly signal: AbortSignal;
}

/**
 * Lets a pending Ctrl-C through between long calculations.
 * @throws when it was pressed
 */
export async function yieldToEventLoop({ signal }: Io): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

export function printLines(io: Io, lines: readonly string[]): void {
  const { db } = io;
  const named = db === undefined ? lines : lines.map((line) => withNamedStore(line, db));
  if (lines.length > 0) io.out(`${named.join('\n')}\n`);
}

/** @returns exit code 0 */
export function printResult<Output>(
  io: Io,
  { json = false }: { readonly json?: boolean },
  output: Output,
  text: (output: Output, look: Look) => readonly string[],
): ExitCode {
  if (json) io.out(`${jsonText(output)}\n`);
  else printLines(io, text(output, io.look));
  return EXIT_CODES.fine;
}

/** Commands that read or write an existing store. */
export const STORE_COMMANDS =
  'ab|ack|baseline|bisect|check|choose|compare|db|engines|export|import|layers|ls|model accuracy|noise|plan|profile|report|repro|run|serve|show|slurm|trend|why';

/**
 * Matches a command to type: it follows a backtick, a sign or an indent, and ends at a sign or at the end of the line.
 */
const TYPED = new RegExp(
  String.raw`(?<=${'`'}|(?:\u2192|[:\u00b7,]) |^ {4,})bench (?:${STORE_COMMANDS})\b(?:"[^"]*"|'[^']*'|[^"'${'`'}\u00b7,;)\n\u001b])*?(?=${'`'}| \u00b7|[,;)\u001b]| {2}|$)`,
  'gmu',
);

/** Adds `--db` with the named store to the commands that a text tells people to type. */
export function withNamedStore(text: string, db: string): string {
  return text.replace(TYPED, (command) => (command.includes(' --db ') ? command : `${command} --db ${shellQuote(db)}`));
}
