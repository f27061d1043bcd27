import { resolve } from 'node:path';
import process from 'node:process';

import * as z from 'zod';

import { LEFT_OUT_KINDS, type LeftOutKind, discoverRuns, leftOutKind } from '../artefacts/read/discover.ts';
import type { ImportHints } from '../artefacts/read/discover.ts';
import type { Io } from '../cli/io.ts';
import { UsageError, errorCode } from '../errors.ts';
import { count } from '../terminal/numbers.ts';
import { printable, shortList } from '../text/printable.ts';
import { OnnxFormatError } from '../tools/onnx/wire-reader.ts';

export function nothingIn(path: string): string {
  if (leftOutKind(path) === 'oldTrtexec')
    return `${printable(path)}: written by trtexec of TensorRT 6 or older, whose averages are not read`;
  return `${printable(path)} contains no results of trtexec or of another harness that bench knows`;
}

/** Number of unreadable files of each kind; filled while reading. */
export type LeftOut = Partial<Record<LeftOutKind, number>>;

export const leftOutSchema = z
  .partialRecord(z.enum(LEFT_OUT_KINDS), z.number().int().min(1))
  .exactOptional()
  .describe('Number of unread files by kind; absent if there are none');

export function leftOutOutput(leftOut: LeftOut): { readonly leftOut?: LeftOut } {
  return Object.keys(leftOut).length === 0 ? {} : { leftOut };
}

/**
 * Reads each named path. If there are several, those without content are left out with a note.
 * @returns whether all of them were read
 * @throws UsageError if nothing was read from any
 */
export async function readNamed(
  paths: readonly string[],
  leftOut: LeftOut,
  io: Pick<Io, 'err'>,
  read: (path: string) => Promise<string | null>,
): Promise<boolean> {
  const problems: string[] = [];
  for (const path of paths) {
    const problem = await read(path);
    if (problem === null) continue;
    problems.push(problem);
    const kind = leftOutKind(path);
    leftOut[kind] = (leftOut[kind] ?? 0) + 1;
  }
  const [first] = problems;
  if (first !== undefined && problems.length === paths.length) throw new UsageError(first);
  for (const problem of problems) io.err(`note: ${problem}: left out\n`);
  return first === undefined;
}

const LEFT_OUT_WORDS: Readonly<Record<LeftOutKind, string>> = {
  oldTrtexec: 'of trtexec of TensorRT 6 or older',
  empty: 'empty',
  other: 'not of trtexec',
};

function leftOutText(files: readonly LeftOutKind[]): string {
  const groups = [...Map.groupBy(files, (kind) => kind)];
  const byKind = groups.map(([kind, own]) => `${groups.length > 1 ? `${own.length} ` : ''}${LEFT_OUT_WORDS[kind]}`);
  return `${count(files.length, 'file')} left out: ${byKind.join(', ')}`;
}

/**
 * Runs under a path, or a line about a missing path. A relative path stays as typed if it is relative to the current
 * folder of the process.
 */
export async function findRuns(
  typed: string,
  io: Pick<Io, 'cwd' | 'err' | 'signal'>,
  hints?: ImportHints,
  leftOut: LeftOut = {},
): ReturnType<typeof discoverRuns> {
  if (typed === '') throw new UsageError('the name of the file or folder is empty');
  const path = resolve(io.cwd) === process.cwd() ? typed : resolve(io.cwd, typed);
  const links: string[] = [];
  const archives: string[] = [];
  const left: LeftOutKind[] = [];
  try {
    const found = await discoverRuns(path, hints, {
      signal: io.signal,
      link: (link) => links.push(link),
      leftOut: (_, kind) => left.push(kind),
      packed: (problem) => archives.push(problem),
    });
    const [[archive], [link]] = [archives, links];
    if (found.length === 0 && archive !== undefined) throw new UsageError(archive);
    const notes = archives.length === 0 ? [] : [shortList(archives, 5, '; ')];
    for (const kind of left) leftOut[kind] = (leftOut[kind] ?? 0) + 1;
    if (left.length > 0) notes.push(`${printable(path)}: ${leftOutText(left)}`);
    if (link !== undefined) {
      const named = `${printable(link)}${links.length > 1 ? ', …' : ''}`;
      const unread = `${count(links.length, 'symbolic link')} not followed (${named})`;
      notes.push(`${unread}: name what they lead to, to read it`);
    }
    for (const note of notes) io.err(`note: ${note}\n`);
    return found;
  } catch (error) {
    if (error instanceof UsageError || io.signal.aborted) throw error;
    throw new UsageError(`${printable(path)}: ${readingProblem(error)}`, { cause: error });
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'file or folder not found',
  EACCES: 'permission denied',
  ENOTDIR: 'is not a folder',
};

export function readingProblem(error: unknown): string {
  return PROBLEMS[errorCode(error)] ?? (error instanceof Error ? printable(error.message) : 'cannot be read');
}

export function onnxProblem(error: unknown): string {
  return error instanceof OnnxFormatError ? `not readable as ONNX: ${error.message}` : readingProblem(error);
}
