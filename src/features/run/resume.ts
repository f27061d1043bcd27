import { existsSync } from 'node:fs';

import { UsageError } from '../../errors.ts';
import { NO_TENSORRT } from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import { BISECT_BRANCH, type Sweep } from '../../records/sweep.ts';
import { readStoredPlan, type StoredPlan } from '../../run/stored-plan.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import type { TrtexecProgram } from '../../trtexec/program/trtexec-program.ts';
import { sweepLockHolder } from '../../run/sweep-lock.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { findSweepsByPrefix, planOf, unfinishedSweeps } from '../../store/sweeps/sweeps.ts';
import type { Io } from '../../cli/io.ts';
import { readMatrix } from '../plan/index.ts';
import { chooseProgram, noTrtexec } from '../../cli/program.ts';

export interface Resumable {
  readonly sweep: Sweep;
  readonly stored: StoredPlan;
  readonly program: TrtexecProgram;
}

/**
 * The sweep to go on with: the one that was named, else the newest that did not finish (of this matrix, if one was
 * given). Null when every sweep is finished.
 */
export function resumable(
  { db, path }: OpenStore,
  matrixPath: string | undefined,
  asked: string | true,
  io: Io,
): Resumable | null {
  const matrix = matrixPath === undefined ? null : readMatrix(matrixPath, io).name;
  const sweep = asked === true ? newestUnfinished(db, artefactsFolderOf(path), matrix) : namedSweep(db, asked);
  if (sweep === null) return null;
  const stored = readStoredPlan(planOf(db, sweep.sweepId));
  if (stored === null) {
    throw new UsageError(`sweep ${sweep.sweepId.slice(0, 8)} has no plan that can be resumed`);
  }
  if (stored.slurmRun !== null) {
    throw new UsageError(
      `sweep ${sweep.sweepId.slice(0, 8)} was handed to Slurm: take what is there with \`bench slurm collect ${shellQuote(stored.slurmRun)}\`, go on with \`bench slurm resume ${shellQuote(stored.slurmRun)}\``,
    );
  }
  const { trtexec, replayFolder } = stored.program;
  if (trtexec !== null && !existsSync(trtexec)) {
    throw new UsageError(`the sweep ran with ${printable(trtexec)}, which is not there any more`);
  }
  if (stored.plan.tensorrt === NO_TENSORRT) return { sweep, stored, program: noTrtexec(io) };
  const { program } = chooseProgram(
    replayFolder === null ? { trtexec: trtexec ?? 'trtexec' } : { replay: replayFolder },
    { replay: null, trtexec: null },
    io,
  );
  return { sweep, stored, program };
}

function namedSweep(db: StoreDatabase, prefix: string): Sweep | null {
  const found = findSweepsByPrefix(db, prefix);
  const [only] = found;
  if (only === undefined) throw new UsageError(`no sweep ${printable(prefix)} in this store`);
  if (found.length > 1) throw new UsageError(`${printable(prefix)} is the start of ${found.length} sweeps`);
  return only.state === 'finished' ? null : only;
}

function newestUnfinished(db: StoreDatabase, artefactsFolder: string, name: string | null): Sweep | null {
  const unfinished = unfinishedSweeps(db).filter(
    // A bisection goes on by itself: `bench bisect --resume`.
    ({ branch, sweepId }) => branch !== BISECT_BRANCH && sweepLockHolder(artefactsFolder, sweepId) === null,
  );
  return unfinished.find(({ matrix }) => name === null || matrix === name) ?? null;
}
