import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { runFoldersIn } from '../../artefacts/copy-run.ts';
import { sweepFolderOf } from '../../artefacts/layout.ts';
import { type MeasuredRun, readContent, type ShardAttempt, writeAttempt } from './attempt.ts';
import type { RunFolder } from './run-folder.ts';

/**
 * Writes down the content of every run of an attempt, then gives its folder the name of the shard by one rename: a shard
 * is there whole or not at all.
 * @param attempt as it ended
 * @returns false when another attempt was done first
 */
export async function finishShard(folder: RunFolder, sweepId: string, attempt: ShardAttempt): Promise<boolean> {
  const work = folder.attempt(attempt);
  const artefacts = join(work, 'artefacts');
  const sweepFolder = sweepFolderOf(artefacts, sweepId);
  const runs: Record<string, MeasuredRun> = {};
  for (const runId of runFoldersIn(sweepFolder)) runs[runId] = (await readContent(join(sweepFolder, runId))).run;
  await writeAttempt(folder, { ...attempt, outcome: 'done', runs });
  try {
    await rename(work, folder.shard(attempt.shard));
    return true;
  } catch (error) {
    if (!existsSync(folder.shard(attempt.shard))) throw error;
    await rm(artefacts, { recursive: true, force: true });
    await writeAttempt(folder, { ...attempt, outcome: 'late' });
    return false;
  }
}
