import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { lastLinesOf } from '../../artefacts/files.ts';
import { EnvironmentLackingError, InterruptedError, UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';

export interface NsysContext {
  readonly spawn: Spawn;
  readonly env: EnvironmentVariables;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 60 * 60_000;
const LAST_WORDS = 3;

/** Runs nsys and shows its output only if it fails. Returns null if it wrote the file `result`. */
export async function runNsys({ spawn, env, cwd, signal }: NsysContext, args: readonly string[], result: string) {
  // Remove an older file, which must not be taken for the new one.
  rmSync(resolve(cwd, result), { force: true });
  return inTemporaryFolder('nsys', async (folder) => {
    const stdoutPath = join(folder, 'stdout.log');
    const stderrPath = join(folder, 'stderr.log');
    const ended = await spawn(
      { file: 'nsys', args, cwd, env, stdoutPath, stderrPath, timeoutMs: TIMEOUT_MS, isTimed: true },
      signal,
      () => {},
    );
    if (ended.cancelled || signal.aborted) throw new InterruptedError('interrupted');
    if (ended.startProblem !== null) {
      throw new EnvironmentLackingError(`nsys: ${ended.startProblem}`);
    }
    const isWell = ended.exitCode === 0 && existsSync(resolve(cwd, result));
    if (isWell) return null;
    return {
      exit: ended.timedOut
        ? 'it took too long'
        : ended.exitCode === 0
          ? `it left no ${result}`
          : `exit code ${ended.exitCode ?? ended.signal ?? 'unknown'}`,
      lastWords: [stdoutPath, stderrPath].flatMap((path) => lastLinesOf(path, LAST_WORDS)),
    };
  });
}

export function capturedFiles(cwd: string, output: string): { report: string; sqlite: string } {
  return { report: resolve(cwd, `${output}.nsys-rep`), sqlite: resolve(cwd, `${output}.sqlite`) };
}

/** @throws UsageError if a capture would overwrite existing files */
export function refuseOverwrite(cwd: string, output: string, replaces: boolean): void {
  if (!/^[\w.+~/-]+$/.test(output)) {
    throw new UsageError(`--output ${printable(output)}: write letters, digits and . _ - + ~ /, without an ending`);
  }
  const { report, sqlite } = capturedFiles(cwd, output);
  if (replaces) return;
  const taken = [report, sqlite].find((path) => existsSync(path));
  if (taken === undefined) return;
  throw new UsageError(
    `${printable(taken)} is there already: --output gives the capture another name, --force replaces it`,
  );
}
