import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeFindings } from '../../artefacts/sweep-notes.ts';
import { makeOwnFolder } from '../../files/folders.ts';
import { artefactsFolderOf, removedFolderOf, sweepFolderOf } from '../../files/layout.ts';
import { moveToRemoved } from '../../artefacts/copy-artefacts.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import type { JudgedSweep } from '../../records/finding.ts';
import type { Sweep } from '../../records/sweep.ts';
import { LOCK_FILE, lockSweep, sweepLockHolder } from '../../run/planned-sweep.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { sweepsOfName } from '../../selection/sides.ts';
import { holderText } from '../../process/lock.ts';
import { immediately, type OpenStore, type StoreDatabase } from '../../store/file/open.ts';
import { type SiblingStores, siblingStores } from '../../store/prune.ts';
import { sweepNumbers } from '../../store/sweeps/overview.ts';
import { removalOf, removeSweep } from '../../store/sweeps/remove-sweep.ts';
import { baselinesOf } from '../../store/sweeps/find-sweeps.ts';
import { judgedAmong } from '../../store/sweeps/findings.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { judgeAgain } from '../check/index.ts';
import type { RmOptions } from './command.ts';
import type { RmOutput } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';

/** Removes sweeps: deletes their rows and what they reported, and moves their artefacts to `removed/`. */
export function rm(names: readonly string[], options: RmOptions, io: Io): Promise<ExitCode> {
  return withStoreToWrite(options, io, async (store) => {
    const named = await Promise.all(names.map((name) => namedSweep(store.db, name, io)));
    const sweeps = [...new Map(named.map((sweep) => [sweep.sweepId, sweep])).values()];
    // Check all before removing the first, so that all or none are removed.
    for (const sweep of sweeps) {
      const problem = refusal(store, sweep);
      ensure(problem === null, `sweep ${sweep.sweepId.slice(0, 8)} ${problem}`);
    }
    const isDryRun = options.dryRun === true;
    const siblings = siblingStores(store.path);
    const removed: Removed[] = [];
    try {
      for (const sweep of sweeps) {
        io.signal.throwIfAborted();
        removed.push(await removeOne(store, sweep, siblings, isDryRun));
      }
    } finally {
      siblings.close();
    }
    const judged = new Map(removed.flatMap((one) => [...one.judged]));
    await writeFindings(store.db, artefactsFolderOf(store.path), await judgeAgain(store.db, judged, io));
    return printResult(io, options, outputOf(removed, isDryRun), rmText);
  });
}

/** The sweep of a name, such as the start of its ID; a revision or baseline could name another sweep later. */
async function namedSweep(db: StoreDatabase, name: string, io: Io): Promise<Sweep> {
  const isOther = name.startsWith('baseline:') || /^HEAD\b/.test(name);
  const [only, ...others] = isOther ? [] : await sweepsOfName(db, name, io);
  if (only === undefined || others.some(({ sweepId }) => sweepId !== only.sweepId)) {
    throw new UsageError(`${printable(name)} does not name one sweep: write the start of an id of \`bench ls sweeps\``);
  }
  return only;
}

/** Why a sweep may not be removed: it is being measured, or something refers to it. Null if it may. */
function refusal({ db, path }: OpenStore, { state, sweepId }: Sweep): string | null {
  const holder = sweepLockHolder(artefactsFolderOf(path), sweepId);
  if (holder !== null) return `is being measured by ${holderText(holder)}: wait for it, or stop it`;
  const slurmRun = state === 'finished' ? null : (readStoredPlan(planOf(db, sweepId))?.slurmRun ?? null);
  if (slurmRun !== null && existsSync(slurmRun)) {
    return `was submitted to Slurm, whose jobs may still add results: \`bench slurm cancel ${shellQuote(slurmRun)}\`, then move that folder away`;
  }
  const [baseline] = baselinesOf(db, sweepId);
  if (baseline === undefined) return null;
  return `is the baseline ${printable(baseline)}: \`bench baseline rm ${shellQuote(baseline)}\` first, or set it to another sweep`;
}

type Removed = Awaited<ReturnType<typeof removeOne>>;

/**
 * Moves the artefacts before the rows are committed. After a kill between the two, the sweep is still in the store and
 * a second call completes the removal. A sweep that is being measured keeps both, and so does a sweep for which either
 * step fails.
 */
async function removeOne({ db, path }: OpenStore, sweep: Sweep, siblings: SiblingStores, isDryRun: boolean) {
  const { sweepId } = sweep;
  const artefacts = artefactsFolderOf(path);
  const numbers = sweepNumbers(db, [sweepId]).get(sweepId);
  const shared = siblings.hasSweep(sweepId) ? siblings.runsOf(sweepId) : null;
  const about = { sweep, runs: (numbers?.runs ?? 0) + (numbers?.builds ?? 0), sharedRuns: shared?.size ?? 0 };
  if (isDryRun)
    return { ...about, removal: removalOf(db, sweep), judged: new Map<string, JudgedSweep>(), movedTo: null };
  const hasArtefacts = existsSync(sweepFolderOf(artefacts, sweepId));
  if (hasArtefacts) await makeOwnFolder(removedFolderOf(artefacts));
  const unlock = hasArtefacts ? lockSweep(artefacts, sweepId) : () => {};
  try {
    const removal = removalOf(db, sweep);
    const judged = judgedAmong(db, removal.judgedAgain);
    const movedTo = immediately(db, () => {
      removeSweep(db, removal);
      return moveToRemoved(artefacts, sweepId, shared);
    });
    if (movedTo !== null) rmSync(join(movedTo, LOCK_FILE), { force: true });
    const reporting = [...removal.changed, ...removal.reopened].map(({ reportedSweepId }) => reportedSweepId);
    await writeFindings(db, artefacts, [...removal.judgedAgain, ...reporting]);
    return { ...about, removal, judged, movedTo };
  } finally {
    unlock();
  }
}

/** In a dry run of several sweeps, each may remove the same finding, so findings count once. */
function outputOf(removed: readonly Removed[], dryRun: boolean): RmOutput {
  const removals = removed.map(({ removal }) => removal);
  const gone = new Set(removals.flatMap(({ findings }) => findings.map(({ finding }) => finding.findingId)));
  const reopened = new Set(removals.flatMap((removal) => removal.reopened.map(({ findingId }) => findingId)));
  const ids = new Set(removals.map(({ sweepId }) => sweepId));
  return {
    schemaVersion: 1,
    dryRun,
    sweeps: removed.map(({ movedTo, runs, sharedRuns, sweep }) => {
      const { matrix, name, sweepId, startedAt } = sweep;
      return { sweepId, name: matrix ?? name, startedAt, runs, movedTo, sharedRuns };
    }),
    findings: [...gone],
    reopened: [...reopened].filter((id) => !gone.has(id)),
    judgedAgain: [...new Set(removals.flatMap(({ judgedAgain }) => judgedAgain))].filter((id) => !ids.has(id)).length,
  };
}

function rmText({ dryRun, findings, judgedAgain, reopened, sweeps }: RmOutput, { style }: Look): string[] {
  const goes = dryRun ? 'would be deleted' : 'deleted';
  return [
    ...sweeps.map(({ name, runs, sharedRuns, startedAt, sweepId }) => {
      const about = [name, startedAt?.slice(0, 16).replace('T', ' '), count(runs, 'run')].filter(Boolean).join(', ');
      const shared = sharedRuns === 0 ? '' : `; artefacts of ${sharedRuns} stay: another store in this folder has them`;
      return style.strong(`sweep ${sweepId.slice(0, 8)}, ${printable(about)}: ${goes}${shared}`);
    }),
    ...findings.map((id) => `finding ${id.slice(0, 8)}: ${goes}, with its acknowledgement`),
    ...reopened.map((id) => `finding ${id.slice(0, 8)}: open again, as a deleted sweep had ended it`),
    ...(judgedAgain === 0 ? [] : [`${count(judgedAgain, 'later sweep')}: judged again`]),
    ...(dryRun ? ['nothing was changed'] : []),
    ...sweeps
      .flatMap(({ movedTo }) => movedTo ?? [])
      .map((path) => `to restore it: \`bench import ${shellQuote(path)}\``),
  ];
}
