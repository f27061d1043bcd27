import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentLackingError } from '../../errors.ts';
import { fullDisk } from '../../process/disk-space.ts';
import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder, temporaryFolderProblem } from '../../process/temporary-folder.ts';
import { printable } from '../../text/printable.ts';
import { compareTensorrtVersions, parseTensorrtVersion } from '../../text/version.ts';
import { missingLibrary, missingLibraryText } from '../failures.ts';
import { versionInMarkers } from '../log/log-lines.ts';
import type { TrtexecProgram } from './find-trtexec.ts';

const TIMEOUT_MS = 60_000;

/** Asks trtexec something that needs no GPU, and reads what it printed. */
function ask<Value>(
  program: TrtexecProgram,
  spawn: Spawn,
  signal: AbortSignal,
  args: readonly string[],
  read: (printed: { startProblem: string | null; stdout: string; stderr: string; folder: string }) => Value,
): Promise<Value> {
  return inTemporaryFolder('probe', async (folder) => {
    const { file, env, prefixArgs } = program;
    const [stdoutPath, stderrPath] = [join(folder, 'stdout.log'), join(folder, 'stderr.log')];
    const invocation = { file, env, cwd: folder, stdoutPath, stderrPath, timeoutMs: TIMEOUT_MS };
    const { startProblem } = await spawn({ ...invocation, args: [...prefixArgs, ...args] }, signal, () => {});
    signal.throwIfAborted();
    const text = (path: string): string => (startProblem === null ? readFileSync(path, 'utf8') : '');
    return read({ startProblem, stdout: text(stdoutPath), stderr: text(stderrPath), folder });
  });
}

/**
 * Runs the help of trtexec, which uses no GPU.
 * @throws EnvironmentLackingError if it cannot be started or is not trtexec
 */
export async function probeTrtexec(program: TrtexecProgram, spawn: Spawn, signal: AbortSignal) {
  const name = printable(program.shownAs);
  return ask(program, spawn, signal, ['--help'], ({ startProblem, stdout, stderr, folder }) => {
    if (startProblem !== null) throw new EnvironmentLackingError(`${name}: ${startProblem}`);
    const version = versionInMarkers(stdout);
    if (version !== null) return { version, flags: new Set(stdout.match(/--[A-Za-z]\w*/g)) };
    // Truncated output proves nothing.
    if (fullDisk(folder) !== null)
      throw new EnvironmentLackingError(temporaryFolderProblem('it has no space or inodes left'));
    const stderrText = stderr.trim().split('\n').at(-1) ?? '';
    const last = stderrText === '' ? '' : `; it said: ${printable(stderrText).slice(0, 200)}`;
    const library = missingLibrary([{ stream: 'stderr', line: 0, text: stderrText }]);
    throw new EnvironmentLackingError(
      library === null
        ? `${name} --help shows no TensorRT version of 8.0 or newer: is it trtexec?${last}`
        : `${name}: ${printable(missingLibraryText(library))}`,
    );
  });
}

const CREATED_WITH = /Plan was created with TensorRT version (\d+(?:\.\d+)+)/;

/** Runs `--getPlanVersionOnly`, which takes 0.3 s with 10.6 and does not load the engine. Null if unknown. */
export async function askPlanVersion(
  program: TrtexecProgram,
  spawn: Spawn,
  signal: AbortSignal,
  enginePath: string,
): Promise<string | null> {
  const args = [`--loadEngine=${enginePath}`, '--getPlanVersionOnly'];
  return ask(program, spawn, signal, args, ({ stdout }) => CREATED_WITH.exec(stdout)?.[1] ?? null);
}

/**
 * Whether one version of TensorRT loads an engine of another. Usually only the exact version that built it does. A
 * version-compatible engine also loads in later versions of the same major one, but its header does not show that.
 */
type Loading = 'loads' | 'maybe' | 'never';

/**
 * @param built as trtexec prints it: `10.3.0.26`
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
