import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { refuseLink } from '../files/folders.ts';
import { sweepFolderOf } from '../files/layout.ts';
import { toolVersion } from '../cli/store-location.ts';
import { UsageError } from '../errors.ts';
import { Lock, type LockHolder, holderText, lockHolder, tryAcquire } from '../process/lock.ts';
import { NO_TENSORRT, type Plan, type PlannedCell } from '../records/plan.ts';
import type { CellKey, SweepId } from '../records/scalars.ts';
import { type Sweep, newSweep, type GitState } from '../records/sweep.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { ConverterPython } from '../variants/variants.ts';
import { type StoredPlan, storedPlanSchema } from './stored-plan.ts';
import { ciBranch, readGitState, resolveRevision } from '../tools/git/git.ts';
import type { Io } from '../cli/io.ts';

/** Null with recordings, and if no cell needs it. */
export function trtexecOf({ tensorrt }: Plan, { file, recordings }: TrtexecProgram): string | null {
  return recordings === null && tensorrt !== NO_TENSORRT ? file : null;
}

/** The sweep that begins with a plan, with facts from the plan, the program and `stated`. */
export function plannedSweep(
  plan: Plan,
  program: TrtexecProgram,
  stated: Pick<Sweep, 'sweepId' | 'startedAt'> & Partial<Sweep>,
): Sweep {
  return newSweep({
    source: 'run',
    matrix: plan.matrix,
    provenance: program.provenance,
    recordingSet: program.recordings?.set ?? null,
    seed: plan.seed,
    toolVersion: toolVersion(),
    trtexec: trtexecOf(plan, program),
    tensorrt: plan.tensorrt === NO_TENSORRT ? null : plan.tensorrt,
    host: program.recordings === null ? hostname() : null,
    ...stated,
  });
}

/** Keys of the cells of a matrix that a plan lacks. */
export function leftOutOf({ cells }: { readonly cells: readonly Pick<PlannedCell, 'cell'>[] }, plan: Plan): CellKey[] {
  const planned = new Set(plan.cells.map(({ cell }) => cell.key));
  return cells.flatMap(({ cell }) => (planned.has(cell.key) ? [] : cell.key));
}

/** The plan in its stored form; without further settings, nothing is checked again and no runs follow. */
export function storedPlanOf(
  plan: Plan,
  program: TrtexecProgram,
  converter: Pick<ConverterPython, 'interpreter'> | null,
  settings: Pick<StoredPlan, 'telemetry' | 'lockClocks' | 'coolDown' | 'numa'> & Partial<StoredPlan>,
): StoredPlan {
  const [trtexec, replayFolder] = [trtexecOf(plan, program), program.recordings?.folder ?? null];
  const python = converter?.interpreter ?? null;
  return storedPlanSchema.parse({ program: { trtexec, replayFolder, python }, ...settings, plan });
}

export const LOCK_FILE = '.lock';

/**
 * @returns a function that releases the lock
 * @throws UsageError if another process holds it
 */
export function lockSweep(artefactsFolder: string, sweepId: SweepId): () => void {
  const folder = sweepFolderOf(artefactsFolder, sweepId);
  const path = join(folder, LOCK_FILE);
  refuseLink(folder);
  mkdirSync(folder, { recursive: true });
  const lock = tryAcquire(path);
  if (lock instanceof Lock) return () => lock.release();
  throw new UsageError(
    `sweep ${sweepId.slice(0, 8)} is being measured by ${holderText(lock)}: wait for it, or stop it`,
  );
}

export function sweepLockHolder(artefactsFolder: string, sweepId: SweepId): LockHolder | null {
  return lockHolder(join(sweepFolderOf(artefactsFolder, sweepId), LOCK_FILE));
}

/**
 * The checked-out commit, or the named one.
 * @throws UsageError when the commit is not in the repository, or there is no repository
 */
export async function gitStateOf(
  options: { readonly commit?: string; readonly branch?: string },
  io: Io,
): Promise<GitState> {
  const state = await readGitState(io.cwd);
  const branch = options.branch ?? state.branch ?? ciBranch(io.env);
  if (options.commit === undefined) return { ...state, branch };
  const commit = await resolveRevision(io.cwd, options.commit);
  const isInRepository = state.dirty !== null;
  if (commit === null && (isInRepository || !/^[0-9a-f]{7,64}$/.test(options.commit))) {
    throw new UsageError(
      `--commit ${options.commit}: ${isInRepository ? 'commit not found in this repository' : 'there is no git repository here; give the id of a commit'}`,
    );
  }
  return { commit: commit ?? options.commit, branch, dirty: false };
}
