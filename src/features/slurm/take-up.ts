import { readdirSync } from 'node:fs';
import { copyFile, link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { temporaryPath } from '../../artefacts/layout.ts';
import { isId } from '../../records/scalars.ts';
import { type ReadRun, readRunFolder } from '../../artefacts/read/read-run.ts';
import type { Plan } from '../../records/plan.ts';
import { comparedWith } from '../../matrix/plan/compared-with.ts';
import type { AttemptRecord } from './attempts.ts';
import { BUNDLE_RUNS } from './bundle.ts';

interface FinishedRun {
  readonly runId: string;
  readonly folder: string;
  readonly read: ReadRun;
}

/** Whether what an attempt left may stand beside what another one will measure. */
export function isSameMachineModel(
  earlier: Pick<AttemptRecord, 'driver' | 'gpuName' | 'node' | 'planSha256'>,
  now: Pick<AttemptRecord, 'driver' | 'gpuName' | 'node' | 'planSha256'>,
): boolean {
  if (earlier.planSha256 !== now.planSha256 || earlier.driver !== now.driver) return false;
  // A machine that does not tell its GPU is like no other.
  return earlier.gpuName === now.gpuName && (now.gpuName !== null || earlier.node === now.node);
}

/**
 * Takes over what an earlier attempt at the same shard had finished when it was cut short: cells that are compared with
 * each other all or none, so that no times are stitched together from two attempts.
 * @param from private folder of the earlier attempt
 * @param to artefacts folder of the sweep in this attempt
 * @returns how many runs were taken over
 */
export async function takeUp(from: string, to: string, sweepId: string, plan: Plan): Promise<number> {
  const finished = [
    ...(await finishedRuns(join(from, 'artefacts', sweepId))),
    ...(await finishedRuns(join(from, 'bundle', BUNDLE_RUNS))),
  ];
  const measured = new Map(
    finished
      .filter(({ read }) => read.outcome.kind === 'measured' && read.manifest.role !== 'build')
      .map((run) => [placeOf(run.read.manifest), run]),
  );
  const taken: FinishedRun[] = [];
  const groups = Map.groupBy(plan.cells, ({ cell }) => comparedWith(cell));
  for (const cells of groups.values()) {
    const keys = new Set(cells.map(({ cell }) => cell.key));
    const planned = plan.runs.filter(({ cellKey }) => keys.has(cellKey));
    const there = planned.flatMap(
      ({ role, cellKey, repeat }) => measured.get(placeOf({ role, cell: { key: cellKey }, repeat })) ?? [],
    );
    if (there.length === planned.length) taken.push(...there);
  }
  const buildIds = new Set(taken.map(({ read }) => read.manifest.buildId));
  const builds = finished.filter(
    ({ read: { manifest } }) => manifest.role === 'build' && buildIds.has(manifest.buildId),
  );
  for (const run of [...builds, ...taken]) await copyRun(run.folder, join(to, run.runId));
  return taken.length;
}

/** The folders of other attempts at a shard, the newest first. */
export function earlierAttempts(temporary: string, shard: number, own: string): string[] {
  return readdirSync(temporary)
    .filter((name) => /^\d+\.\d+\.\d+$/.test(name) && name.startsWith(`${shard}.`) && name !== own)
    .toSorted((a, b) => {
      const [[, jobA = 0, restartA = 0], [, jobB = 0, restartB = 0]] = [numbersOf(a), numbersOf(b)];
      return jobB - jobA || restartB - restartA;
    });
}

/** `3.17.0`: shard, job, restart. */
function numbersOf(name: string): number[] {
  return name.split('.').map(Number);
}

function placeOf(run: {
  readonly role: string | null;
  readonly cell: { readonly key?: string | undefined } | object | null;
  readonly repeat: number | null;
}): string {
  const key = run.cell !== null && 'key' in run.cell ? String(run.cell.key) : '';
  return `${run.role} ${key} ${run.repeat}`;
}

async function finishedRuns(folder: string): Promise<FinishedRun[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const found: FinishedRun[] = [];
  for (const runId of names.filter(isId)) {
    // The other attempt may still be at work, or be cleaned up just now: then its run is not taken over.
    const [read] = await readRunFolder(join(folder, runId)).catch((): ReadRun[] => []);
    if (read !== undefined) found.push({ runId, folder: join(folder, runId), read });
  }
  return found;
}

async function copyRun(from: string, to: string): Promise<void> {
  const temporary = temporaryPath(to);
  await mkdir(temporary, { recursive: true });
  try {
    for (const name of await readdir(from)) {
      const [source, target] = [join(from, name), join(temporary, name)];
      await link(source, target).catch(() => copyFile(source, target));
    }
    await rename(temporary, to);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
