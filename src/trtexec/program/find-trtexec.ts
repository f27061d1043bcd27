import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

import { EnvironmentLackingError, orNull } from '../../errors.ts';
import { ask, problemOf } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import { otherSystem } from '../../process/system.ts';
import type { Environment } from '../../records/environment.ts';
import type { Provenance } from '../../records/sweep.ts';
import { printable } from '../../text/printable.ts';
import { compareTensorrtVersions, parseTensorrtVersion } from '../../text/version.ts';
import { missingLibrary, missingLibraryText } from '../failures.ts';
import { versionInMarkers } from '../log/log-lines.ts';

const USUAL_PLACES = ['/usr/src', '/opt', '/usr/local', '/workspace'].map((at) => `${at}/tensorrt/bin/trtexec`);

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
      `trtexec was not found (looked at --trtexec, $TRTEXEC, PATH, ${USUAL_PLACES.join(', ')}); name it with --trtexec PATH, or try matrices/quickstart.yaml with --replay night1, without a GPU`,
  );
}

function isProgram(path: string): boolean {
  return orNull(() => accessSync(path, constants.X_OK) ?? statSync(path).isFile()) ?? false;
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

const TIMEOUT_MS = 60_000;

/**
 * Runs the help of trtexec, which uses no GPU.
 * @throws EnvironmentLackingError if it cannot be started or is not trtexec
 */
export async function probeTrtexec(program: TrtexecProgram, signal: AbortSignal, timeoutMs = TIMEOUT_MS) {
  const { env, file, prefixArgs } = program;
  const name = printable(program.shownAs);
  const answer = await ask(file, [...prefixArgs, '--help'], { env, signal, timeoutMs });
  signal.throwIfAborted();
  if (answer.kind === 'missing' || answer.kind === 'silent') {
    throw new EnvironmentLackingError(`${name} --help: ${problemOf(answer)}`);
  }
  const { stderr, text } = answer;
  const version = versionInMarkers(text);
  if (version !== null) return { version, flags: new Set(text.match(/--[A-Za-z]\w*/g)) };
  const problem = stderr.trim().split('\n').at(-1) || (answer.kind === 'refused' ? answer.problem : '');
  const last = problem === '' ? '' : `; it said: ${printable(problem).slice(0, 200)}`;
  const library = missingLibrary([{ stream: 'stderr', line: 0, text: problem }]);
  throw new EnvironmentLackingError(
    library === null
      ? `${name} --help shows no TensorRT version of 8.0 or newer: is it trtexec?${last}`
      : `${name}: ${printable(missingLibraryText(library))}`,
  );
}

const CREATED_WITH = /Plan was created with TensorRT version (\d+(?:\.\d+)+)/;

/** Runs `--getPlanVersionOnly`, which takes 0.3 s with 10.6 and does not load the engine. Null if unknown. */
export async function askPlanVersion(program: TrtexecProgram, signal: AbortSignal, enginePath: string) {
  const { env, file, prefixArgs } = program;
  const args = [...prefixArgs, `--loadEngine=${enginePath}`, '--getPlanVersionOnly'];
  const answer = await ask(file, args, { env, signal, timeoutMs: TIMEOUT_MS });
  signal.throwIfAborted();
  return 'text' in answer ? (CREATED_WITH.exec(answer.text)?.[1] ?? null) : null;
}

/**
 * Whether a version of TensorRT may load an engine of another: usually only the exact version that built it does. A
 * version-compatible engine also loads in later versions of the same major one, but its header does not show that.
 * @param built as trtexec prints it: `10.3.0.26`
 * @param running such as `10.6.0`
 */
export function mayLoad(built: string, running: string): boolean {
  const a = parseTensorrtVersion(built);
  const b = parseTensorrtVersion(running);
  return a === null || b === null || (a.major === b.major && compareTensorrtVersions(a, b) <= 0);
}
