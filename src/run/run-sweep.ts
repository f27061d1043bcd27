import { makeArtefactsFolder } from '../artefacts/artefacts-folder.ts';
import { writeSweepManifest } from '../artefacts/sweep-manifest.ts';
import { BenchError } from '../errors.ts';
import type { SweepCounts } from './sweep-event.ts';
import type { Sweep } from '../records/sweep.ts';
import { sqliteRefusal } from '../store/verify/sqlite-problems.ts';
import { savePlannedCells, saveSweep } from '../store/sweeps/sweeps.ts';
import { asDiskFull } from './disk-room.ts';
import { requireStore } from './lost-store.ts';
import { lockSweep } from './sweep-lock.ts';
import { recoverSweep } from './recover.ts';
import type { StoredPlan } from './stored-plan.ts';
import type { SweepContext } from './sweep-context.ts';
import { SweepWork } from './sweep-work.ts';

/**
 * Does what a plan says, skipping what is stored already. Each result is stored the moment it is there, and a cell
 * that fails stops no other.
 * @param lanes one for each GPU; the first speaks for the sweep where it makes no difference
 * @throws InterruptedError on Ctrl-C, after the running processes have been ended
 * @throws DiskFullError when there is no room for more
 * @throws StoreLostError when the store was deleted, replaced or damaged meanwhile
 * @throws UsageError when another process measures the same sweep
 */
export async function runSweep(
  lanes: readonly [SweepContext, ...SweepContext[]],
  stored: StoredPlan,
): Promise<SweepCounts> {
  const [{ artefactsFolder, sweep }] = lanes;
  const unlock = lockSweep(artefactsFolder, sweep.sweepId);
  try {
    return await doPlan(lanes, stored);
  } catch (error) {
    const problem = asDiskFull(lanes[0], error);
    if (!(problem instanceof BenchError) && sqliteRefusal(error) !== null) requireStore(lanes[0]);
    throw problem;
  } finally {
    for (const { watch } of lanes) watch?.stop();
    lanes[0].cache.uses.release();
    unlock();
  }
}

async function doPlan(lanes: readonly [SweepContext, ...SweepContext[]], stored: StoredPlan): Promise<SweepCounts> {
  const [first] = lanes;
  await openSweep(first, stored);
  await recoverSweep(first);
  const work = new SweepWork(lanes, stored.gpus?.cells ?? {});
  await work.begin(first.plan.runs);
  const again = first.againRuns();
  if (again.length > 0) {
    first.onEvent({ kind: 'measuredAgain', runs: again });
    await work.replace(again);
  }
  for (let more = first.moreRuns(); more.length > 0; more = first.moreRuns()) {
    first.onEvent({ kind: 'moreRuns', runs: more });
    await work.do(more);
  }
  await closeSweep(first, stored);
  return work.counts;
}

async function openSweep(context: SweepContext, stored: StoredPlan): Promise<void> {
  const { artefactsFolder, db, plan, sweep, writer } = context;
  await makeArtefactsFolder(artefactsFolder);
  await saveState(context, stored, { ...sweep, state: 'running' });
  const cells = plan.cells.map(({ cell }) => cell);
  savePlannedCells({ db, writer }, sweep.sweepId, cells, plan.repeats);
}

async function closeSweep(context: SweepContext, stored: StoredPlan): Promise<void> {
  requireStore(context);
  await saveState(context, stored, { ...context.sweep, state: 'finished', finishedAt: context.now().toISOString() });
}

/** First on disk, then in the store: what the store knows can always be restored. */
export async function saveState(
  { artefactsFolder, db }: Pick<SweepContext, 'artefactsFolder' | 'db'>,
  stored: StoredPlan,
  sweep: Sweep,
): Promise<void> {
  await writeSweepManifest(artefactsFolder, { sweep, plan: stored, importedAt: null });
  saveSweep(db, sweep, stored);
}
