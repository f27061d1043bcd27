import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { UsageError } from '../errors.ts';
import type { Matrix } from '../matrix/load.ts';
import { didYouMean } from '../text/nearest.ts';
import { readRecordingSet, type RecordingSet } from '../trtexec/replay/recording-set.ts';
import { type TrtexecProgram, findTrtexec } from '../trtexec/program/find-trtexec.ts';
import type { Io } from './io.ts';
import { packageFolder } from '../files/folders.ts';

export interface ProgramOptions {
  readonly trtexec?: string;
  readonly replay?: string;
  readonly replayTiming?: 'instant' | 'original';
}

/** Uses recordings only when an option or the matrix requests them. */
export function chooseProgram(
  options: ProgramOptions,
  matrix: Pick<Matrix, 'replay' | 'trtexec'>,
  io: Io,
): { readonly program: TrtexecProgram; readonly set: RecordingSet | null } {
  if (options.trtexec !== undefined && options.replay !== undefined) {
    throw new UsageError('--trtexec and --replay cannot be used together');
  }
  const replay = options.replay ?? (options.trtexec === undefined ? matrix.replay : null);
  if (replay !== null) {
    const set = findSet(replay, io);
    const env = { ...io.env, BENCH_REPLAY_SET: set.folder, BENCH_REPLAY_TIMING: options.replayTiming ?? 'instant' };
    const recordings = { set: set.name, folder: set.folder, enginePool: set.enginePool, environment: set.environment };
    const prefixArgs = [join(packageFolder(), 'dist', 'replay.cjs')];
    const program = {
      ...noTrtexec(io),
      file: process.execPath,
      prefixArgs,
      env,
      provenance: 'recorded',
      recordings,
    } as const;
    return { program, set };
  }
  const path = findTrtexec({ flag: options.trtexec, matrix: matrix.trtexec, env: io.env, cwd: io.cwd });
  return { program: { ...noTrtexec(io), file: path, shownAs: path }, set: null };
}

export function noTrtexec({ env }: Io): TrtexecProgram {
  return { file: 'trtexec', prefixArgs: [], env, shownAs: 'trtexec', provenance: 'measured', recordings: null };
}

/** A bundled set by name, or any folder with a manifest. */
function findSet(name: string, io: Io): RecordingSet {
  const shipped = join(packageFolder(), 'recordings');
  if (/^[\w.-]+$/.test(name) && existsSync(join(shipped, name, 'manifest.json'))) {
    return readRecordingSet(join(shipped, name));
  }
  const folder = resolve(io.cwd, name);
  if (existsSync(join(folder, 'manifest.json'))) return readRecordingSet(folder);
  const names = existsSync(shipped) ? readdirSync(shipped).toSorted() : [];
  throw new UsageError(
    `replay ${name}: neither a set that comes with bench (${names.join(', ')}) nor a folder with a manifest.json${didYouMean(name, names)}`,
  );
}
