import { isOneOf } from './text/unknown-values.ts';

/** An error that a user can act on: printed as its lines, without a stack. */
export abstract class BenchError extends Error {
  abstract readonly exitCode: ExitCode;

  /** Each line is complete on its own: what is wrong, where, and what to do. */
  get lines(): readonly string[] {
    return [this.message];
  }
}

/** A reason, and the last lines that a program printed. */
export abstract class ProgramError extends BenchError {
  override get lines(): readonly string[] {
    return this.message.split('\n');
  }
}

export class UsageError extends BenchError {
  readonly exitCode = EXIT_CODES.wrongUse;
}

/** @throws UsageError with this problem unless the condition holds */
export function ensure(holds: unknown, problem: string): asserts holds {
  if (!holds) throw new UsageError(problem);
}

/** A file larger than any real one. Reading it would fill the memory or take hours. */
export class TooLargeError extends UsageError {}

/** This machine lacks something that the work needs: trtexec, a GPU, a newer Node. */
export class EnvironmentLackingError extends BenchError {
  readonly exitCode = EXIT_CODES.environmentLacking;
}

/** No measurement is lost, and the work can be resumed. */
export class DiskFullError extends EnvironmentLackingError {}

/** What was asked is not complete: a machine that disturbs every run, a commit that cannot be measured, a failed capture. */
export class IncompleteError extends ProgramError {
  readonly exitCode = EXIT_CODES.incomplete;
}

/** The store file was removed or replaced while a sweep wrote to it. */
export class StoreLostError extends EnvironmentLackingError {}

export class StoreError extends BenchError {
  readonly exitCode: ExitCode = EXIT_CODES.wrongUse;
}

/** Permissions or the disk refuse access to the store. */
export class StoreAccessError extends StoreError {
  override readonly exitCode = EXIT_CODES.environmentLacking;
}

/** Ctrl-C, or a termination signal. */
export class InterruptedError extends BenchError {
  readonly exitCode = EXIT_CODES.interrupted;
}

/** 1-based, as editors count. */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface Mistake {
  readonly at: SourcePosition;
  /** What is wrong and what to do, without the place. */
  readonly problem: string;
}

const MOST_MISTAKES = 100;

export function formatMistake({ at, problem }: Mistake): string {
  return `${at.file}:${at.line}:${at.column}: ${problem}`;
}

/** Every mistake found in a matrix, in the order of the file. `lines` holds only the first ones. */
export class MatrixError extends BenchError {
  readonly exitCode = EXIT_CODES.wrongUse;
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[], options?: ErrorOptions) {
    const sorted = sortMistakes(mistakes);
    super(sorted.map(formatMistake).join('\n'), options);
    this.mistakes = sorted;
  }

  override get lines(): readonly string[] {
    const lines = this.mistakes.map(formatMistake);
    if (lines.length <= MOST_MISTAKES) return lines;
    return [...lines.slice(0, MOST_MISTAKES), `and ${lines.length - MOST_MISTAKES} more`];
  }
}

/** @throws MatrixError if there are any */
export function throwMistakes(mistakes: readonly Mistake[]): void {
  if (mistakes.length > 0) throw new MatrixError(mistakes);
}

/** By position; of equal mistakes on a line the first. */
function sortMistakes(mistakes: readonly Mistake[]): Mistake[] {
  const seen = new Set<string>();
  return mistakes
    .toSorted((a, b) => a.at.file.localeCompare(b.at.file) || a.at.line - b.at.line || a.at.column - b.at.column)
    .filter(({ at, problem }) => {
      const key = `${at.file}:${at.line}:${problem}`;
      return seen.has(key) ? false : seen.add(key);
    });
}

/** An export in an unexpected format. The caller adds the name of the file. */
export class ExportFormatError extends Error {}

/** The code of a system or SQLite error, such as `ENOENT`; empty for any other. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** The message of an error; any other thrown value as text. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export const EXIT_CODES = {
  fine: 0,
  regression: 1,
  wrongUse: 2,
  environmentLacking: 3,
  incomplete: 4,
  unclear: 5,
  /** A defect in bench itself (EX_SOFTWARE of sysexits.h), never a mistake of the user. */
  internalError: 70,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** Each code in a few words for `bench --help`, and in full for docs/reference/commands.md. */
export const EXIT_CODE_TEXTS: Readonly<Record<ExitCode, readonly [short: string, full: string]>> = {
  0: ['fine', 'Nothing got slower, or there was nothing to judge.'],
  1: ['regression', 'Something got slower, or broke a limit, and nobody acknowledged it. Takes precedence over 4.'],
  2: ['wrong use or bad input', 'The line on standard error names the mistake and its position.'],
  3: [
    'the environment lacks something',
    'Examples: no trtexec, no GPU, no ModelOpt, a full disk, a store that cannot be written. `bench doctor` shows how to fix it. Also in place of 0, if standard output could not be written.',
  ],
  4: [
    'some runs failed',
    'The answer is incomplete. Also: no deployment is within the limits of `bench choose`; a store or an engine is damaged (`bench db verify`, `bench engines verify`); two stores contradict each other (`bench db merge`).',
  ],
  5: ['unclear, with --fail-on unclear', 'More runs are needed for a verdict.'],
  70: ['internal error', 'A bug in bench; `BENCH_DEBUG=1` shows the stack.'],
  130: ['interrupted', '`bench run --resume` continues.'],
};

/** The list in `bench help`. It omits `70`, which no user can cause. */
export const EXIT_CODE_WORDS = Object.entries(EXIT_CODE_TEXTS)
  .filter(([code]) => Number(code) !== EXIT_CODES.internalError)
  .map(([code, [short]]) => `${code} ${short}`);

export const FAIL_ON_WORDS = ['regression', 'new', 'failed', 'unclear', 'warning', 'limit'] as const;

export type FailOnWord = (typeof FAIL_ON_WORDS)[number];

/** Words of the previous version, and their meaning in this one. */
export const EARLIER_WORDS = ['open', 'suspected'] as const;
export type EarlierWord = (typeof EARLIER_WORDS)[number];
export const TAKEN_AS: Readonly<Record<EarlierWord, FailOnWord>> = { open: 'regression', suspected: 'unclear' };

/** `--fail-on`: findings that set the exit code. */
type FailOn = readonly (FailOnWord | EarlierWord)[];

export const DEFAULT_FAIL_ON: FailOn = ['regression', 'failed', 'limit'];

/** Words for results that are worse than they should be; the others are for failed and unclear results. */
const WORSE: readonly FailOnWord[] = ['regression', 'new', 'warning', 'limit'];

/** Worse results take precedence over failed runs, and failed runs over unclear results. */
export function failOn(requested: FailOn | undefined, found: Readonly<Partial<Record<FailOnWord, boolean>>>): ExitCode {
  const asked = (requested ?? DEFAULT_FAIL_ON).map((word) => (isOneOf(EARLIER_WORDS, word) ? TAKEN_AS[word] : word));
  const words = asked.filter((word) => found[word] === true);
  if (words.some((word) => WORSE.includes(word))) return EXIT_CODES.regression;
  if (words.includes('failed')) return EXIT_CODES.incomplete;
  return words.includes('unclear') ? EXIT_CODES.unclear : EXIT_CODES.fine;
}

/** The result; null if it fails, as system calls and foreign JSON may. */
export function orNull<Value>(ask: () => Value): Value | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
