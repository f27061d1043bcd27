import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { relative, sep } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { BenchError } from '../../errors.ts';
import type { Matrix } from '../../matrix/matrix.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { matrixFileOf } from '../../store/sweeps/sweeps.ts';
import { printable } from '../../text/printable.ts';
import { repositoryFolder } from '../../tools/git/git.ts';
import { readMatrix } from '../plan/index.ts';

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

interface NotifyProgram {
  readonly argv: readonly string[];
  /** Those of the sweeps that it is started for. */
  readonly sweeps: readonly Sweep[];
}

/**
 * The programs to start, each once. They are read from files that the user named, or that lie in the current folder or
 * its repository and were measured here: never from a store, an import or an artefact, which only names the file.
 */
export async function notifyPrograms(
  db: StoreDatabase,
  { stated, matrices, sweeps, isUntrusted }: NotifySources,
  io: Io,
): Promise<readonly NotifyProgram[]> {
  if (stated !== undefined) return sweeps.length === 0 ? [] : [{ argv: stated, sweeps }];
  const places = matrices !== null || isUntrusted ? [] : await placesOf(io);
  const ofFile = (sweep: Sweep) => {
    try {
      return matrixOfSweep(db, sweep, places, io)?.notify?.value ?? null;
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      const file = printable(matrixFileOf(db, sweep.sweepId) ?? '');
      io.err(`note: notify: ${file} cannot be read any more: nothing was started\n`);
      return null;
    }
  };
  const programs = sweeps.map((sweep) => ({
    sweep,
    argv: matrices === null ? ofFile(sweep) : programAmong(matrices, sweep),
  }));
  return [...Map.groupBy(programs, ({ argv }) => JSON.stringify(argv)).values()].flatMap((same) => {
    const argv = same[0]?.argv ?? null;
    return argv === null ? [] : [{ argv, sweeps: same.map(({ sweep }) => sweep) }];
  });
}

/** Where a matrix file may lie that the command line does not name. */
export async function placesOf({ cwd }: Io): Promise<readonly string[]> {
  return [cwd, await repositoryFolder(cwd)].flatMap((folder) => folder ?? []);
}

function programAmong(matrices: readonly Matrix[], sweep: Sweep): readonly string[] | null {
  return matrices.find(({ name, notify }) => name === sweep.matrix && notify !== null)?.notify?.value ?? null;
}

function isOfThisMachine({ source, provenance, host }: Sweep): boolean {
  return source === 'run' && (host === hostname() || (host === null && provenance === 'recorded'));
}

/**
 * The matrix that a sweep was made with, which may execute code: null unless it was measured here and lies in one of
 * the folders.
 * @throws BenchError when it cannot be read any more
 */
export function matrixOfSweep(db: StoreDatabase, sweep: Sweep, folders: readonly string[], io: Io): Matrix | null {
  const file = isOfThisMachine(sweep) ? matrixFileOf(db, sweep.sweepId) : null;
  if (file === null || !existsSync(file) || !folders.some((folder) => isUnder(file, folder))) return null;
  const matrix = readMatrix(file, io);
  return matrix.name === sweep.matrix ? matrix : null;
}

/** Links are followed: what they lead to lies there as well. */
function isUnder(file: string, folder: string): boolean {
  const path = relative(realpathSync(folder), realpathSync(file));
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !path.startsWith(sep);
}
