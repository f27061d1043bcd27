import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentLackingError } from '../../errors.ts';
import { fullDisk } from '../../process/disk-space.ts';
import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder, temporaryFolderProblem } from '../../process/temporary-folder.ts';
import { printable } from '../../text/printable.ts';
import { compareTensorrtVersions, parseTensorrtVersion, type TensorrtVersion } from '../../text/version.ts';
import { missingLibrary, missingLibraryText } from '../failures.ts';
import type { TrtexecProgram } from './trtexec-program.ts';

interface ProbedTrtexec {
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

const TIMEOUT_MS = 60_000;

const CREATED_WITH = /Plan was created with TensorRT version (\d+(?:\.\d+)+)/;

/**
 * Asks trtexec which TensorRT built an engine, without loading it (`--getPlanVersionOnly`; 0.3 s with 10.6). Null when
 * it does not say: then the first run tells whether the engine loads.
 */
export async function askPlanVersion(
  program: TrtexecProgram,
  spawn: Spawn,
  signal: AbortSignal,
  enginePath: string,
): Promise<string | null> {
  return inTemporaryFolder('probe', async (folder) => {
    const stdoutPath = join(folder, 'stdout.log');
    const args = [...program.prefixArgs, `--loadEngine=${enginePath}`, '--getPlanVersionOnly'];
    const result = await spawn(
      {
        file: program.file,
        args,
        cwd: folder,
        env: program.env,
        stdoutPath,
        stderrPath: join(folder, 'stderr.log'),
        timeoutMs: TIMEOUT_MS,
      },
      signal,
      () => {},
    );
    signal.throwIfAborted();
    if (result.startProblem !== null) return null;
    return CREATED_WITH.exec(readFileSync(stdoutPath, 'utf8'))?.[1] ?? null;
  });
}

/**
 * Whether a TensorRT loads an engine of another version. An engine loads in the very version that built it; one that
 * was built version-compatible also in later ones of the same major, and nothing in its header tells that.
 */
type Loading = 'loads' | 'maybe' | 'never';

/**
 * @param built as trtexec tells it: `10.3.0.26`
 * @param running such as `10.6.0`
 */
export function loadingOf(built: string, running: string): Loading {
  const a = parseTensorrtVersion(built);
  const b = parseTensorrtVersion(running);
  if (a === null || b === null) return 'maybe';
  const order = compareTensorrtVersions(a, b);
  if (order === 0) return 'loads';
  return a.major === b.major && order < 0 ? 'maybe' : 'never';
}
