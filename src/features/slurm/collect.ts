import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import * as z from 'zod';

import { runFoldersIn } from '../../artefacts/copy-artefacts.ts';
import { readJson } from '../../files/folders.ts';
import { artefactsFolderOf, RUN_MANIFEST, sweepFolderOf, sweepManifestPath } from '../../files/layout.ts';
import { InterruptedError, type ExitCode, failOn } from '../../errors.ts';
import { isHopeless, isOver, isSettling, type ShardStatus } from '../../tools/slurm/states.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { type CollectOutput, collectText, countStates, pendingLine, stateCounts } from './text.ts';
import { finishedShards, readRun, type RunPlan, shardStates } from './run-folder.ts';
import { lockSweep } from '../../run/planned-sweep.ts';
import { openSweep, saveState } from '../../run/run-sweep.ts';
import type { CollectOptions } from './command.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type OpenStore, openStore } from '../../store/file/open.ts';
import { RunWriter } from '../../store/runs/save-run.ts';
import { findSweep } from '../../store/sweeps/sweeps.ts';
import { sweepSpan } from '../../store/sweeps/imports.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { usingStore } from '../../cli/with-store.ts';
import { importRunFolders } from '../import/index.ts';

export async function collect(path: string, options: CollectOptions, io: Io): Promise<ExitCode> {
  const plan = await readRun(resolve(io.cwd, path));
  const statesNow = shardStates(plan, options, io);
  if (options.wait === true) await follow(statesNow, plan, options, io);
  const found = await settledStatuses(statesNow, options, io);
  const store = openStore(storePath(options.db ?? (io.env['BENCH_DB'] || plan.storePath), io), migrationsFolder());
  const artefactsFolder = artefactsFolderOf(store.path);
  const { sweepId } = plan.sweep;
  return usingStore(store, async ({ db }) => {
    const unlock = lockSweep(artefactsFolder, sweepId);
    try {
      await saveNewSweep(plan, store);
      const imported = await importShards(store, plan, io);
      const damaged = new Set(imported.refused.map(({ shard }) => shard));
      const statuses = found.map((one): ShardStatus => {
        return damaged.has(one.shard) ? { ...one, state: 'failed', reason: 'damaged files, set aside' } : one;
      });
      const sweep = findSweep(db, sweepId);
      const isDone = statuses.every(({ state }) => state === 'done');
      if (isDone && sweep !== null && sweep.state !== 'finished') {
        const { finishedAt } = sweepSpan(db, sweepId);
        await saveState({ artefactsFolder, db }, plan.stored, { ...sweep, state: 'finished', finishedAt });
      }
      const report: CollectOutput = {
        schemaVersion: 1,
        sweepId,
        runFolder: plan.folder.path,
        isFinished: isDone || sweep?.state === 'finished',
        ...imported,
        incompleteCells: incompleteCells(store, plan, statuses),
        counts: countStates(statuses),
        shards: statuses,
      };
      printResult(io, options, report, (_, look) => collectText(report, store.path, look));
      const { incompleteCells: incomplete, isFinished, refused } = report;
      const failed = !isFinished || incomplete > 0 || refused.length > 0;
      return failOn(options.failOn, { regression: false, unclear: false, failed });
    } finally {
      unlock();
    }
  });
}

type States = ReturnType<typeof shardStates>;

/** Seconds before the second look; each wait is twice as long as the last, up to `--poll`. */
const FIRST_POLL_S = 1;

/** Follows a run until it can make no more progress, with a line for each change. */
async function follow(statesNow: States, { folder }: RunPlan, options: CollectOptions, io: Io): Promise<void> {
  const { maxPending, poll } = options;
  const newsIn = newsOf(maxPending, io);
  try {
    for (let pollS = Math.min(FIRST_POLL_S, poll); ; pollS = Math.min(poll, pollS * 2)) {
      const statuses = await statesNow();
      io.signal.throwIfAborted();
      for (const line of newsIn(statuses)) io.err(`${line}\n`);
      if (statuses.every((status) => isOver(status) || status.state === 'planned')) return;
      await sleep(pollS * 1000, undefined, { signal: io.signal });
    }
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const run = shellQuote(folder.path);
    throw new InterruptedError(
      `bench no longer follows the jobs, which continue: \`bench slurm collect ${run} --wait\` follows them again, \`bench slurm cancel ${run}\` ends them`,
      { cause: error },
    );
  }
}

/** News since the last check: reasons that may hold forever, and the number of shards in each state. */
function newsOf(maxPendingS: number, io: Io): (statuses: readonly ShardStatus[]) => string[] {
  let counts = '';
  const queuedSinceMs = new Map<number, number>();
  const reported = new Set<string>();
  return (statuses) => {
    const nowMs = io.now().getTime();
    const waiting = statuses.filter(({ reason, shard, state }) => {
      if (state !== 'queued') queuedSinceMs.delete(shard);
      else if (!queuedSinceMs.has(shard)) queuedSinceMs.set(shard, nowMs);
      const waitedMs = nowMs - (queuedSinceMs.get(shard) ?? nowMs);
      return state === 'queued' && !reported.has(reason) && (isHopeless(reason) || waitedMs > maxPendingS * 1000);
    });
    const warnings = [...Map.groupBy(waiting, ({ reason }) => reason)].map(([reason, all]) => pendingLine(all, reason));
    for (const { reason } of waiting) reported.add(reason);
    const before = counts;
    counts = stateCounts(statuses);
    return [...warnings, ...(counts === before ? [] : [counts])];
  };
}

/** Network file systems may list folders a minute late. */
async function settledStatuses(statesNow: States, { lateFiles }: CollectOptions, io: Io): Promise<ShardStatus[]> {
  const statuses = await statesNow();
  const isAtWork = statuses.some((each) => ['queued', 'running'].includes(each.state) && !isSettling(each));
  if (lateFiles <= 0 || isAtWork || !statuses.some(isSettling)) return statuses;
  io.err(`note: some shards have ended without results: files may come late, ${lateFiles} s\n`);
  await sleep(lateFiles * 1000, undefined, { signal: io.signal });
  return statesNow();
}

/** Saves the sweep unless the store has it. */
export async function saveNewSweep({ sweep, stored }: RunPlan, { db, path }: OpenStore): Promise<void> {
  if (findSweep(db, sweep.sweepId) !== null) return;
  await openSweep({ artefactsFolder: artefactsFolderOf(path), db, sweep, writer: new RunWriter(db) }, stored);
}

/**
 * Imports the runs of finished shards that the store lacks. Safe to repeat. Damaged shards are set aside, so that
 * `resume` measures them again.
 */
async function importShards(store: OpenStore, plan: RunPlan, io: Io) {
  const { sweepId } = plan.sweep;
  const writer = new RunWriter(store.db);
  const folders: string[] = [];
  const refused: { readonly shard: number; readonly problem: string }[] = [];
  let alreadyStored = 0;
  for (const shard of await finishedShards(plan)) {
    const artefacts = join(plan.folder.shard(shard), 'artefacts');
    const sweepFolder = sweepFolderOf(artefacts, sweepId);
    if (readJson(sweepManifestPath(artefacts, sweepId), z.object({ sweepId: z.literal(sweepId) })) === null) {
      refused.push({ shard, problem: 'its sweep.json is missing or damaged' });
      continue;
    }
    for (const runId of runFoldersIn(sweepFolder)) {
      const folder = join(sweepFolder, runId);
      const stated = z.object({ runId: z.literal(runId), sweepId: z.literal(sweepId) });
      if (writer.hasRun(runId)) alreadyStored += 1;
      else if (readJson(join(folder, RUN_MANIFEST), stated) !== null) folders.push(folder);
      else refused.push({ shard, problem: `run ${runId.slice(0, 8)}: its run.json is missing or damaged` });
    }
  }
  const imported = folders.length === 0 ? [] : await importRunFolders(folders, store, io);
  for (const shard of new Set(refused.map((one) => one.shard))) {
    const aside = `${plan.folder.shard(shard)}.damaged`;
    await rm(aside, { recursive: true, force: true });
    await rename(plan.folder.shard(shard), aside);
  }
  return { stored: imported.reduce((sum, { stored }) => sum + stored, 0), alreadyStored, refused };
}

/** Cells with missing runs in the finished shards. */
function incompleteCells(
  { db }: OpenStore,
  { stored: { plan }, shards, sweep }: RunPlan,
  statuses: readonly ShardStatus[],
): number {
  const measured = cellRunsOf(db, [sweep.sweepId]).filter(
    ({ outcome, role }) => role === 'timed' && outcome.kind === 'measured',
  );
  const runs = Map.groupBy(measured, ({ cellKey }) => cellKey);
  return statuses
    .filter(({ state }) => state === 'done')
    .flatMap(({ shard }) => shards[shard]?.cellKeys ?? [])
    .filter((key) => (runs.get(key)?.length ?? 0) < plan.repeats).length;
}
