import { rmSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import { copyRunFolder, runFoldersIn } from '../../artefacts/copy-artefacts.ts';
import { runFolderOf, sweepFolderOf } from '../../artefacts/layout.ts';
import { toRunRecord } from '../../artefacts/read/identify.ts';
import type { RunRecord } from '../../records/run.ts';
import {
  finishedShards,
  type MeasuredRun,
  readAttempt,
  readContent,
  type ShardAttempt,
  type RunPlan,
} from './run-folder.ts';
import type { RunId } from '../../records/scalars.ts';
import { withPackedLayers } from '../../store/runs/save-run.ts';

/** The folder of a shard is not what a task left there. */
class ShardRefusal extends Error {
  override readonly name = 'ShardRefusal';
}

export interface RefusedShard {
  readonly shard: number;
  readonly problem: string;
}

export type TakenShard =
  | { readonly kind: 'refused'; readonly refusal: RefusedShard }
  | {
      readonly kind: 'taken';
      readonly attempt: ShardAttempt;
      /** Those that the store lacks. */
      readonly records: readonly RunRecord[];
      /** Another attempt is stored: nothing of this one is. */
      readonly isSuperseded: boolean;
    };

/**
 * Reads the runs of a finished shard and copies them into the store's artefacts: all that the store lacks, or none.
 * @param stored ids of stored runs, with their start
 */
export async function takeShard(
  plan: RunPlan,
  shard: number,
  artefactsFolder: string,
  stored: ReadonlyMap<string, string | null>,
): Promise<TakenShard> {
  try {
    const attempt = await finishedAttempt(plan, shard);
    // Run ids follow from the plan: no cell may mix times of two attempts.
    const isOther = ([runId, run]: [string, MeasuredRun]): boolean =>
      stored.has(runId) && stored.get(runId) !== run.startedAt;
    if (Object.entries(attempt.runs).some(isOther)) return { kind: 'taken', attempt, records: [], isSuperseded: true };
    const records = await shardRuns(plan, attempt, (runId) => !stored.has(runId));
    for (const { runId } of records) {
      const target = runFolderOf(artefactsFolder, plan.sweep.sweepId, runId);
      // Left by a kill between the copy and the store.
      rmSync(target, { recursive: true, force: true });
      copyRunFolder(join(shardSweepFolder(plan, shard), runId), target);
    }
    return { kind: 'taken', attempt, records, isSuperseded: false };
  } catch (error) {
    if (error instanceof ShardRefusal) return { kind: 'refused', refusal: { shard, problem: error.message } };
    throw error;
  }
}

/** Removes invalid shard folders, so that the shards can be measured again. */
export async function removeRefused(plan: RunPlan, now: Date): Promise<RefusedShard[]> {
  const { folder } = plan;
  const refused: RefusedShard[] = [];
  for (const shard of await finishedShards(folder)) {
    try {
      await shardRuns(plan, await finishedAttempt(plan, shard), () => true);
    } catch (error) {
      if (!(error instanceof ShardRefusal)) throw error;
      refused.push({ shard, problem: error.message });
      await mkdir(folder.attempts(shard), { recursive: true });
      await rename(folder.shard(shard), join(folder.attempts(shard), `refused-${now.getTime()}`));
    }
  }
  return refused;
}

/** @throws ShardRefusal for a folder of something else */
async function finishedAttempt(plan: RunPlan, shard: number): Promise<ShardAttempt> {
  const attempt = await readAttempt(plan.folder.shard(shard));
  if (attempt === null) throw new ShardRefusal('its attempt.json is missing or damaged');
  if (attempt.planSha256 !== plan.sha256) throw new ShardRefusal('belongs to another plan');
  if (attempt.shard !== shard || plan.shards[shard] === undefined) {
    throw new ShardRefusal(`says that it is shard ${attempt.shard}`);
  }
  if (attempt.outcome !== 'done') throw new ShardRefusal(`is ${attempt.outcome}, not done`);
  return attempt;
}

/** @throws ShardRefusal when a run was changed, or belongs to another shard */
async function shardRuns(
  plan: RunPlan,
  { runs, shard }: ShardAttempt,
  isWanted: (runId: RunId) => boolean,
): Promise<RunRecord[]> {
  const { sweepId } = plan.sweep;
  const keys = new Set(plan.shards[shard]?.cellKeys);
  const sweepFolder = shardSweepFolder(plan, shard);
  const present = runFoldersIn(sweepFolder);
  const records: RunRecord[] = [];
  for (const [runId, stated] of Object.entries(runs)) {
    if (!isWanted(runId)) continue;
    const name = `its run ${runId.slice(0, 8)}`;
    if (!present.has(runId)) throw new ShardRefusal(`${name} is missing`);
    const content = await readContent(join(sweepFolder, runId)).catch(() => null);
    const manifest = content?.read.manifest;
    if (content?.run.content !== stated.content || manifest?.runId !== runId || manifest.sweepId !== sweepId) {
      throw new ShardRefusal(`${name} is damaged: not what the task left`);
    }
    const identity = { runId, sweepId, repeat: manifest.repeat ?? 1, artefactFolder: `${sweepId}/${runId}` };
    const record = toRunRecord(content.read, identity);
    if (record.cell !== null && !keys.has(record.cell.key)) {
      throw new ShardRefusal(`${name} is of a cell of another shard`);
    }
    records.push(withPackedLayers(record));
  }
  return records;
}

function shardSweepFolder({ folder, sweep }: RunPlan, shard: number): string {
  return sweepFolderOf(join(folder.shard(shard), 'artefacts'), sweep.sweepId);
}
