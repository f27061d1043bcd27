import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';

import type { Io } from '../../cli/io.ts';
import { isInside } from '../../files/layout.ts';
import type { Matrix } from '../../matrix/load.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { matrixFileOf } from '../../store/sweeps/sweeps.ts';
import { repositoryFolder } from '../../tools/git/git.ts';
import { readMatrix } from './prepare.ts';

/** Folders in which a matrix file may lie that the command line does not name. */
export async function placesOf({ cwd }: Io): Promise<readonly string[]> {
  return [cwd, await repositoryFolder(cwd)].flatMap((folder) => folder ?? []);
}

/**
 * The matrix of a sweep, which may execute code. Null unless the sweep was measured here and the file lies in one of
 * the folders; links are followed.
 * @throws BenchError when the file can no longer be read
 */
export function matrixOfSweep(db: StoreDatabase, sweep: Sweep, folders: readonly string[], io: Io): Matrix | null {
  const { host, provenance, source } = sweep;
  const isHere = source === 'run' && (host === hostname() || (host === null && provenance === 'recorded'));
  const file = isHere ? matrixFileOf(db, sweep.sweepId) : null;
  if (file === null || !existsSync(file)) return null;
  const isUnder = (folder: string): boolean => isInside(realpathSync(folder), realpathSync(file));
  const matrix = folders.some(isUnder) ? readMatrix(file, io) : null;
  return matrix?.name === sweep.matrix ? matrix : null;
}
