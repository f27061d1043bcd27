import { resolve } from 'node:path';
import process from 'node:process';

import { discoverRuns } from '../artefacts/read/discover.ts';
import type { ImportHints } from '../artefacts/read/recognise.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { count } from '../terminal/numbers.ts';
import type { Io } from '../cli/io.ts';
import { readingProblem } from './reading-problem.ts';

export function nothingIn(path: string): string {
  const isCapture = /\.(?:sqlite|nsys-rep)$/.test(path);
  const hint = isCapture ? '; `bench layers --kernels FILE.sqlite` reads an export of nsys' : '';
  return `${printable(path)}: nothing of trtexec in it, nor of another harness that bench knows${hint}`;
}

const MOST_NAMED = 5;

/**
 * Runs under a path, or a line about a missing path. It stays as typed where it is relative to the folder of the
 * process.
 */
export async function findRuns(
  typed: string,
  io: Pick<Io, 'cwd' | 'err' | 'signal'>,
  hints?: ImportHints,
): ReturnType<typeof discoverRuns> {
  if (typed === '') throw new UsageError('which file or folder? Its name is empty');
  const path = resolve(io.cwd) === process.cwd() ? typed : resolve(io.cwd, typed);
  const links: string[] = [];
  const archives: string[] = [];
  try {
    const found = await discoverRuns(path, hints, {
      signal: io.signal,
      link: (link) => links.push(link),
      damaged: (file) => archives.push(`${printable(file)}: damaged archive: nothing in it can be read`),
      archive: (file, program, from) =>
        archives.push(`${printable(file)}: needs ${program} to be read (apt-get install ${from}), or unpack it`),
    });
    const [archive] = archives;
    if (found.length === 0 && archive !== undefined) throw new UsageError(archive);
    for (const line of archives.slice(0, MOST_NAMED)) io.err(`note: ${line}\n`);
    if (archives.length > MOST_NAMED) {
      io.err(`note: ${archives.length - MOST_NAMED} more archives are not read\n`);
    }
    const [first] = links;
    if (first !== undefined) {
      io.err(
        `note: ${count(links.length, 'symbolic link')} not followed (${printable(first)}${links.length > 1 ? ', …' : ''}): name what they lead to, to read it\n`,
      );
    }
    return found;
  } catch (error) {
    if (error instanceof UsageError || io.signal.aborted) throw error;
    throw new UsageError(`${printable(path)}: ${readingProblem(error)}`, { cause: error });
  }
}
