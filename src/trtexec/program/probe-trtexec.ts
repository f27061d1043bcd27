import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { EnvironmentLackingError } from '../../errors.ts';
import { missingLibrary, missingLibraryText } from '../missing-library.ts';
import { printable } from '../../text/printable.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import { fullDisk } from '../../process/disk-space.ts';
import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder, temporaryFolderProblem } from '../../process/temporary-folder.ts';
import type { TrtexecProgram } from './trtexec-program.ts';

export interface ProbedTrtexec {
  readonly version: TensorrtVersion;
  /** Every flag that its own help names. */
  readonly flags: ReadonlySet<string>;
}

const PROBE_TIMEOUT_MS = 60_000;

/**
 * Asks trtexec for its help: the marker above it has the version. No GPU is touched.
 * @throws EnvironmentLackingError when it cannot be started or is no trtexec
 */
export async function probeTrtexec(
  program: TrtexecProgram,
  spawn: Spawn,
  signal: AbortSignal,
  readVersion: (help: string) => TensorrtVersion | null,
): Promise<ProbedTrtexec> {
  return inTemporaryFolder('probe', async (folder) => {
    const stdoutPath = join(folder, 'stdout.log');
    const stderrPath = join(folder, 'stderr.log');
    const result = await spawn(
      {
        file: program.file,
        args: [...program.prefixArgs, '--help'],
        cwd: folder,
        env: program.env,
        stdoutPath,
        stderrPath,
        timeoutMs: PROBE_TIMEOUT_MS,
      },
      signal,
      () => {},
    );
    signal.throwIfAborted();
    if (result.startProblem !== null) {
      throw new EnvironmentLackingError(`${printable(program.shownAs)}: ${result.startProblem}`);
    }
    const text = readFileSync(stdoutPath, 'utf8');
    const version = readVersion(text);
    if (version === null) {
      // What it printed was cut off: that says nothing of it.
      const noRoom = fullDisk(folder) !== null ? temporaryFolderProblem('ENOSPC') : null;
      if (noRoom !== null) throw new EnvironmentLackingError(noRoom);
      const said = readFileSync(stderrPath, 'utf8').trim().split('\n').at(-1) ?? '';
      const last = said === '' ? '' : `; it said: ${printable(said).slice(0, 200)}`;
      const library = missingLibrary([{ stream: 'stderr', line: 0, text: said }]);
      if (library !== null) {
        throw new EnvironmentLackingError(`${printable(program.shownAs)}: ${printable(missingLibraryText(library))}`);
      }
      throw new EnvironmentLackingError(
        `${printable(program.shownAs)} --help shows no TensorRT version of 8.0 or newer: is it trtexec?${last}`,
      );
    }
    return { version, flags: new Set(text.match(/--[A-Za-z]\w*/g)) };
  });
}
