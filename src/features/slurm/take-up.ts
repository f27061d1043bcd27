import { join } from 'node:path';

import { copyRunFolder, runFoldersIn } from '../../artefacts/copy-artefacts.ts';
import { sweepFolderOf } from '../../artefacts/layout.ts';
import { type ReadRun, readRunFolder } from '../../artefacts/read/read-run.ts';
import type { RunManifest } from '../../artefacts/run-manifest.ts';
import { comparedWith } from '../../matrix/plan/assign-gpus.ts';
import type { Environment } from '../../records/environment.ts';
import type { Plan } from '../../records/plan.ts';
import { runIdOf } from '../../run/measure-run.ts';
import { readAttempts, type ShardAttempt } from './attempt.ts';
import type { RunFolder } from './run-folder.ts';

/**
 * Copies what an earlier attempt at the same shard had finished on a machine of the same model when it was cut off: of
 * cells that are compared with each other all or none, so that no cell gets times of two attempts.
 * @param part the plan of the shard
 * @returns the number of runs
 */
export async function takeUp(
  folder: RunFolder,
  own: ShardAttempt,
  sweepId: string,
  part: Plan,
  environment: Partial<Environment>,
  onNote: (text: string) => void,
): Promise<number> {
  const artefactsOf = (attempt: ShardAttempt): string =>
    sweepFolderOf(join(folder.attempt(attempt), 'artefacts'), sweepId);
  const attempts = await readAttempts(folder, own.shard);
  for (const earlier of attempts.toReversed()) {
    if (earlier.planSha256 !== own.planSha256 || folder.attempt(earlier) === folder.attempt(own)) continue;
    const isSameNode = earlier.node === own.node;
    const finished = (await finishedRuns(artefactsOf(earlier))).filter(({ manifest }) =>
      isSameModel(manifest.environment, environment, isSameNode),
    );
    const kept = wholeGroups(finished, sweepId, part);
    const buildIds = new Set(kept.map(({ manifest }) => manifest.buildId));
    const builds = finished.filter(({ manifest }) => manifest.role === 'build' && buildIds.has(manifest.buildId));
    for (const { manifest, path } of [...builds, ...kept]) {
      copyRunFolder(path, join(artefactsOf(own), manifest.runId ?? ''));
    }
    if (kept.length === 0) continue;
    onNote(`${kept.length} runs are taken over from an earlier attempt on ${earlier.node}`);
    return kept.length;
  }
  return 0;
}

/** A machine that does not state its GPU is like no other. */
function isSameModel(there: RunManifest['environment'], here: Partial<Environment>, isSameNode: boolean): boolean {
  const [gpu = null, driver = null] = [here.gpuName, here.driver];
  return (there.gpuName ?? null) === gpu && (there.driver ?? null) === driver && (gpu !== null || isSameNode);
}

/** Of the cells that are compared with each other, those of which every planned run was measured. */
function wholeGroups(finished: readonly ReadRun[], sweepId: string, { cells, runs }: Plan): ReadRun[] {
  const measured = new Map(
    finished.filter(({ outcome }) => outcome.kind === 'measured').map((read) => [read.manifest.runId, read]),
  );
  const groups = Map.groupBy(cells, ({ cell }) => comparedWith(cell));
  return [...groups.values()].flatMap((group) => {
    const keys = new Set(group.map(({ cell }) => cell.key));
    const planned = runs.filter(({ cellKey }) => keys.has(cellKey));
    const kept = planned.flatMap((run) => measured.get(runIdOf(sweepId, run)) ?? []);
    return kept.length === planned.length ? kept : [];
  });
}

async function finishedRuns(sweepFolder: string): Promise<ReadRun[]> {
  const found: ReadRun[] = [];
  for (const runId of runFoldersIn(sweepFolder)) {
    // The other attempt may still work, or be removed just now: then its run is not taken over.
    const [read] = await readRunFolder(join(sweepFolder, runId)).catch((): ReadRun[] => []);
    if (read?.manifest.runId === runId) found.push(read);
  }
  return found;
}
