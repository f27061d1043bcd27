import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { relative, sep } from 'node:path';

import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { BenchError } from '../../errors.ts';
import type { Matrix } from '../../matrix/matrix.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { matrixFileOf } from '../../store/sweeps/gate-of-sweep.ts';
import { printable } from '../../text/printable.ts';
import { repositoryFolder } from '../../tools/git/git.ts';
import { readMatrix } from '../plan/index.ts';

const argvSchema = z.array(z.string().min(1)).min(1).max(100);

/** A program, or a JSON list of a program and its arguments: `["mail", "ops@example.org"]`; null for anything else. */
export function readNotifyCommand(text: string): readonly string[] | null {
  if (!text.trimStart().startsWith('[')) return text.trim() === '' ? null : [text];
  try {
    return argvSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export interface NotifySources {
  /** From the command line: then no matrix names one. */
  readonly stated: readonly string[] | undefined;
  /** Read from the files that the command line names; null when it names none. */
  readonly matrices: readonly Matrix[] | null;
  /** The newest sweeps with something new, one for each series. */
  readonly sweeps: readonly Sweep[];
  /** No program of a file that the command line does not name. */
  readonly isUntrusted: boolean;
}

/**
 * The programs to start, each once. They are read from files that the user named, or that lie in the current folder or
 * its repository and were measured here: never from a store, an import or an artefact, which only names the file.
 */
export async function notifyPrograms(
  db: StoreDatabase,
  { stated, matrices, sweeps, isUntrusted }: NotifySources,
  io: Io,
): Promise<readonly (readonly string[])[]> {
  if (stated !== undefined) return [stated];
  if (matrices !== null) {
    const names = new Set(sweeps.map(({ matrix }) => matrix));
    return distinct(matrices.flatMap(({ name, notify }) => (notify !== null && names.has(name) ? [notify.value] : [])));
  }
  const own = sweeps.filter(isOfThisMachine);
  if (isUntrusted || own.length === 0) return [];
  const folders = [io.cwd, await repositoryFolder(io.cwd)].flatMap((folder) => folder ?? []);
  return distinct(own.flatMap((sweep) => programOfFile(db, sweep, folders, io)));
}

function isOfThisMachine({ source, provenance, host }: Sweep): boolean {
  return source === 'run' && (host === hostname() || (host === null && provenance === 'recorded'));
}

function programOfFile(
  db: StoreDatabase,
  { sweepId, matrix: name }: Sweep,
  folders: readonly string[],
  io: Io,
): (readonly string[])[] {
  const file = matrixFileOf(db, sweepId);
  if (file === null || !existsSync(file) || !folders.some((folder) => isUnder(file, folder))) return [];
  try {
    const matrix = readMatrix(file, io);
    return matrix.notify === null || matrix.name !== name ? [] : [matrix.notify.value];
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    io.err(`note: notify: ${printable(file)} cannot be read any more: nothing was started\n`);
    return [];
  }
}

/** Links are followed: what they lead to lies there as well. */
function isUnder(file: string, folder: string): boolean {
  const path = relative(realpathSync(folder), realpathSync(file));
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !path.startsWith(sep);
}

function distinct(programs: readonly (readonly string[])[]): (readonly string[])[] {
  return [...new Map(programs.map((argv) => [JSON.stringify(argv), argv])).values()];
}
