import { readAhead } from '../../artefacts/read/read-ahead.ts';
import { saveState } from '../../run/run-sweep.ts';
import type { Io } from '../../cli/io.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { runFoldersOf } from '../../store/prune.ts';
import type { RunWriter } from '../../store/runs/save-run.ts';
import { findSweep, savePlannedCells } from '../../store/sweeps/sweeps.ts';
import { finishedShards, type RunPlan } from './run-folder.ts';
import { type RefusedShard, takeShard, type TakenShard } from './take-shard.ts';

export interface CollectContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  readonly artefactsFolder: string;
}

export interface Collected {
  readonly shards: ReadonlySet<number>;
  readonly stored: number;
  readonly alreadyStored: number;
  readonly refused: readonly RefusedShard[];
  readonly latestEnd: string | null;
}

/** In one transaction. After a kill the next call imports the rest: shards keep their folders. */
const STORED_AT_ONCE = 64;

/** Imports the runs of finished shards, whole shards only. Safe to repeat. */
export async function collectShards(plan: RunPlan, context: CollectContext, io: Io): Promise<Collected> {
  const { artefactsFolder, db } = context;
  const onProgress = progressOf(io);
  if (findSweep(db, plan.sweep.sweepId) === null) await saveNewSweep(plan, context);
  const storedBefore = new Map(
    runFoldersOf(db, plan.sweep.sweepId).map(({ runId, startedAt }): [string, string | null] => [runId, startedAt]),
  );
  const refused: RefusedShard[] = [];
  const shards = new Set<number>();
  let [stored, alreadyStored, done] = [0, 0, 0];
  let latestEnd: string | null = null;
  const waiting = [...(await finishedShards(plan.folder))].toSorted((a, b) => a - b);
  let group: Extract<TakenShard, { kind: 'taken' }>[] = [];
  const storeGroup = (): void => {
    context.writer.saveRuns(group.flatMap(({ records }) => records));
    for (const { attempt, records } of group) {
      stored += records.length;
      alreadyStored += Object.keys(attempt.runs).length - records.length;
      if (attempt.endedAt !== null && attempt.endedAt > (latestEnd ?? '')) latestEnd = attempt.endedAt;
      shards.add(attempt.shard);
    }
    group = [];
  };
  for await (const shard of readAhead(waiting, (each) => takeShard(plan, each, artefactsFolder, storedBefore))) {
    io.signal.throwIfAborted();
    done += 1;
    onProgress(done, waiting.length);
    if (shard.kind === 'refused') {
      refused.push(shard.refusal);
      continue;
    }
    if (shard.isSuperseded) {
      const other = 'another attempt was collected before: the store keeps that one';
      io.err(`note: shard ${shard.attempt.shard}: ${other}\n`);
    }
    group.push(shard);
    if (group.length >= STORED_AT_ONCE) storeGroup();
  }
  storeGroup();
  return { shards, stored, alreadyStored, refused, latestEnd };
}

function progressOf(io: Io): (done: number, all: number) => void {
  let shownMs = io.now().getTime();
  return (done, all) => {
    const now = io.now().getTime();
    if (now - shownMs < 2000) return;
    shownMs = now;
    io.err(`${done} of ${all} shards\n`);
  };
}

export async function closeCollectedSweep(
  plan: RunPlan,
  { shards, latestEnd }: Collected,
  context: CollectContext,
): Promise<void> {
  const sweep = findSweep(context.db, plan.sweep.sweepId);
  if (sweep === null || sweep.state === 'finished' || shards.size < plan.shards.length) return;
  await saveState(context, plan.stored, { ...sweep, state: 'finished', finishedAt: latestEnd });
}

export async function saveNewSweep(
  { sweep, stored }: RunPlan,
  { artefactsFolder, db, writer }: CollectContext,
): Promise<void> {
  await saveState({ artefactsFolder, db }, stored, sweep);
  const cells = stored.plan.cells.map(({ cell }) => cell);
  savePlannedCells({ db, writer }, sweep.sweepId, cells, stored.plan.repeats);
}
