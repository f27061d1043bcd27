import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import type { FailureReason } from './records/outcome.ts';

/** An error that a user can act on: printed as its lines, without a stack. */
export abstract class BenchError extends Error {
  abstract readonly exitCode: ExitCode;

  /** Each line is complete in itself: what is wrong, where, and what to do. */
  get lines(): readonly string[] {
    return [this.message];
  }
}

export class UsageError extends BenchError {
  override readonly name = 'UsageError';
  readonly exitCode = EXIT_CODES.wrongUse;
}

/** A file larger than any real one: reading it would fill the memory, or take hours. */
export class TooLargeError extends UsageError {}

/** Something the work needs is not on this machine: trtexec, a GPU, a newer Node. */
export class EnvironmentLackingError extends BenchError {
  override readonly name = 'EnvironmentLackingError';
  readonly exitCode = EXIT_CODES.environmentLacking;
}

/** Nothing measured is lost; the work can be resumed. */
export class DiskFullError extends EnvironmentLackingError {}

/** The machine spoils every run: the sweep stopped, and can be resumed. */
export class UnfitSweepError extends BenchError {
  override readonly name = 'UnfitSweepError';
  readonly exitCode = EXIT_CODES.incomplete;
}

/** The store file was removed or replaced while a sweep wrote to it. */
export class StoreLostError extends EnvironmentLackingError {}

export class StoreError extends BenchError {
  override readonly name: string = 'StoreError';
  readonly exitCode: ExitCode = EXIT_CODES.wrongUse;
}

/** Permissions or the disk refuse access to the store. */
export class StoreAccessError extends StoreError {
  override readonly name = 'StoreAccessError';
  override readonly exitCode = EXIT_CODES.environmentLacking;
}

/** Transient: the same conversion may succeed later. */
const MISHAPS: readonly FailureReason[] = ['timeout', 'killed', 'outOfMemory', 'diskFull'];

export class ConversionError extends BenchError {
  override readonly name = 'ConversionError';
  readonly exitCode: ExitCode;

  constructor(problem: string, reason: FailureReason) {
    super(problem);
    this.exitCode = MISHAPS.includes(reason) ? EXIT_CODES.incomplete : EXIT_CODES.wrongUse;
  }
}

/** Ctrl-C, or a termination signal. */
export class InterruptedError extends BenchError {
  override readonly name = 'InterruptedError';
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
  /** An unknown key: other mistakes may follow from it, so it comes first. */
  readonly isCause?: boolean;
}

const MOST_MISTAKES = 10;

export function formatMistake({ at, problem }: Mistake): string {
  return `${at.file}:${at.line}:${at.column}: ${problem}`;
}

/** Every mistake found in a matrix: unknown keys first, then in file order. Its lines are the first ones. */
export class MatrixError extends BenchError {
  override readonly name = 'MatrixError';
  readonly exitCode = EXIT_CODES.wrongUse;
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[], options?: ErrorOptions) {
    super(mistakes.map(formatMistake).join('\n'), options);
    this.mistakes = mistakes;
  }

  override get lines(): readonly string[] {
    const lines = this.mistakes.map(formatMistake);
    if (lines.length <= MOST_MISTAKES) return lines;
    return [...lines.slice(0, MOST_MISTAKES), `and ${lines.length - MOST_MISTAKES} more`];
  }
}

/** The caller names the file. */
export class ExportFormatError extends Error {
  override readonly name = 'ExportFormatError';
}

/** The code of an error of the system or of SQLite, such as `ENOENT`; empty for any other. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** What an error says; anything else that was thrown, as text. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
