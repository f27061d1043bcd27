import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

import { EnvironmentLackingError } from '../../errors.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import { otherSystem } from '../../process/system.ts';
import type { Environment } from '../../records/environment.ts';
import type { Provenance } from '../../records/sweep.ts';
import { printable } from '../../text/printable.ts';

const USUAL_PLACES = [
  '/usr/src/tensorrt/bin/trtexec',
  '/opt/tensorrt/bin/trtexec',
  '/usr/local/tensorrt/bin/trtexec',
  '/workspace/tensorrt/bin/trtexec',
];

/** There is no trtexec in any of the searched places. */
export class NoTrtexecError extends EnvironmentLackingError {}

export interface TrtexecLookup {
  /** The value of `--trtexec`. */
  readonly flag: string | undefined;
  /** `trtexec:` in the matrix, as an absolute path. */
  readonly matrix: string | null;
  readonly env: EnvironmentVariables;
  readonly cwd: string;
}

/**
 * The trtexec to use: the named one, otherwise `$TRTEXEC`, the first on PATH, or one in a usual place.
 * @throws EnvironmentLackingError listing every searched place
 */
export function findTrtexec({ flag, matrix, env, cwd }: TrtexecLookup): string {
  const named: [string, string | undefined | null][] = [
    ['--trtexec', flag],
    ['trtexec of the matrix', matrix],
    ['$TRTEXEC', env['TRTEXEC']],
  ];
  for (const [from, path] of named) {
    if (path === undefined || path === null || path === '') continue;
    const absolute = resolve(cwd, path);
    if (isProgram(absolute)) return absolute;
    throw new EnvironmentLackingError(`${from}: ${printable(absolute)} is not an executable program`);
  }
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = [...onPath.map((folder) => join(folder, 'trtexec')), ...USUAL_PLACES];
  const found = places.find(isProgram);
  if (found !== undefined) return found;
  throw new NoTrtexecError(
    otherSystem()?.message ??
      `trtexec was not found (looked at --trtexec, $TRTEXEC, PATH, ${USUAL_PLACES.join(', ')}); name it with --trtexec PATH, or try --replay night1 without a GPU`,
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Keeps a plan independent of how its commands run: by a real trtexec, or by recordings of one. */
export interface TrtexecProgram {
  readonly file: string;
  readonly prefixArgs: readonly string[];
  readonly env: EnvironmentVariables;
  /** A program that starts trtexec, such as `numactl`, with its arguments. It comes first in the command line. */
  readonly wrapper?: readonly string[];
  /** The name that users see, and that stored command lines have. */
  readonly shownAs: string;
  readonly provenance: Provenance;
  readonly recordings: RecordedMachine | null;
}

export interface RecordedMachine {
  readonly set: string;
  readonly folder: string;
  readonly enginePool: string;
  readonly environment: Partial<Environment>;
}
