import { mkdir } from 'node:fs/promises';

import { sweepFolderOf } from '../../artefacts/layout.ts';
import { refuseLink } from '../../artefacts/own-folder.ts';
import { saveState } from '../../run/run-sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { findSweep, savePlannedCells } from '../../store/sweeps/sweeps.ts';
import { bundledShards } from './bundle.ts';
import { KnownBundles } from './known-bundles.ts';
import type { RunFolder, RunPlan } from './run-folder.ts';
import { type RefusedBundle, type TakeContext, takeBundle, type TakenBundle, type TakenOne } from './take-bundle.ts';

export interface CollectContext extends TakeContext {
  readonly db: StoreDatabase;
  readonly signal: AbortSignal;
  /** So many shards of so many are looked through. */
  readonly onProgress: (done: number, all: number) => void;
  readonly onNote: (text: string) => void;
}

export interface Collected {
  /** Shards whose bundle is in the store. */
  readonly shards: ReadonlySet<number>;
  readonly stored: number;
  readonly alreadyStored: number;
  readonly refused: readonly RefusedBundle[];
  /** When the last of them was done. */
  readonly latestEnd: string | null;
  /** Shards that were taken in before, whether their bundle is still there or not. */
  readonly takenBefore: ReadonlySet<number>;
}

/** So many bundles are read while another is stored. */
const READ_AHEAD = 8;
/** To bring a transaction to the disk takes longer than what a small bundle has in it. */
const STORED_AT_ONCE = 64;

/**
 * Takes every bundle into the store that is not there yet, whole ones only, after their bytes were compared with their
 * hashes. Can be done as often as one likes.
 */
export async function collectBundles(folder: RunFolder, plan: RunPlan, context: CollectContext): Promise<Collected> {
  const { signal } = context;
  await openCollectedSweep(plan, context);
  const known = new KnownBundles(sweepFolderOf(context.artefactsFolder, plan.sweep.sweepId));
  const takenBefore = known.shards;
  const refused: RefusedBundle[] = [];
  const shards = new Set<number>();
  let [stored, alreadyStored, done] = [0, 0, 0];
  let latestEnd: string | null = null;
  const waiting = [...(await bundledShards(folder.bundles))].toSorted((a, b) => a - b);
  const reading: Promise<TakenBundle>[] = [];
  const take = (shard: number) => {
    const taken = takeBundle(folder, plan, shard, context, known);
    // What goes wrong is told when its turn comes.
    taken.catch(() => {});
    reading.push(taken);
  };
  let group: TakenOne[] = [];
  const storeGroup = () => {
    storeBundles(group, context);
    for (const { manifest, records, sha256 } of group) {
      known.add(manifest.shard, sha256);
      stored += records.length;
      alreadyStored += manifest.runs.length - records.length;
      if (latestEnd === null || manifest.endedAt > latestEnd) latestEnd = manifest.endedAt;
      shards.add(manifest.shard);
    }
    group = [];
  };
  try {
    for (const shard of waiting.splice(0, READ_AHEAD)) take(shard);
    for (let next = reading.shift(); next !== undefined; next = reading.shift()) {
      signal.throwIfAborted();
      const bundle = await next;
      const ahead = waiting.shift();
      if (ahead !== undefined) take(ahead);
      done += 1;
      if (bundle.kind === 'refused') refused.push(bundle);
      if (bundle.kind === 'superseded') {
        context.onNote(`shard ${bundle.shard}: its bundle ${bundle.problem}`);
        alreadyStored += bundle.manifest.runs.length;
        shards.add(bundle.shard);
      }
      if (bundle.kind !== 'taken') continue;
      group.push(bundle);
      if (group.length >= STORED_AT_ONCE) storeGroup();
      context.onProgress(done, done + reading.length + waiting.length);
    }
    storeGroup();
  } finally {
    await Promise.allSettled(reading);
    await known.save();
  }
  return { shards, stored, alreadyStored, refused, latestEnd, takenBefore };
}

/** What a kill cuts off here is taken in the next time: bundles stay until then. */
function storeBundles(bundles: readonly TakenOne[], { db, writer }: CollectContext): void {
  const records = bundles.flatMap((bundle) => bundle.records);
  if (records.length === 0) return;
  db.transaction(() => records.forEach((record) => writer.saveRun(record)), { behavior: 'immediate' });
}

/** The sweep is finished when every shard is in. */
export async function closeCollectedSweep(
  plan: RunPlan,
  { shards, latestEnd }: Collected,
  context: Pick<CollectContext, 'artefactsFolder' | 'db'>,
): Promise<void> {
  const sweep = findSweep(context.db, plan.sweep.sweepId);
  if (sweep === null || sweep.state === 'finished' || shards.size < plan.shards.length) return;
  const finished = { ...sweep, state: 'finished' as const, finishedAt: latestEnd };
  await saveState(context, plan.stored, finished);
}

async function openCollectedSweep(
  { sweep, stored }: RunPlan,
  { db, writer, artefactsFolder }: CollectContext,
): Promise<void> {
  const folder = sweepFolderOf(artefactsFolder, sweep.sweepId);
  refuseLink(folder);
  await mkdir(folder, { recursive: true });
  if (findSweep(db, sweep.sweepId) !== null) return;
  await saveState({ artefactsFolder, db }, stored, sweep);
  saveSweepPlan({ db, writer }, { sweep, stored });
}

/** What a sweep sets out to measure. */
export function saveSweepPlan(
  { db, writer }: Pick<CollectContext, 'db' | 'writer'>,
  { sweep, stored: { plan } }: Pick<RunPlan, 'stored' | 'sweep'>,
): void {
  const cells = plan.cells.map(({ cell }) => cell);
  savePlannedCells({ db, writer }, sweep.sweepId, cells, plan.repeats);
}
