import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { artefactsFolderOf, sweepFolderOf } from '../../artefacts/layout.ts';
import { makeOwnFolder, refuseLink } from '../../artefacts/folders.ts';
import { InterruptedError, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { isHopeless, isSettling, type ShardStatus } from '../../tools/slurm/states.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import type { CollectOutput } from './output.ts';
import { collectText, countStates } from './text.ts';
import { tryAcquire } from '../../process/lock.ts';
import { holderText } from '../../process/lock-holder.ts';
import { closeCollectedSweep, collectShards } from './collect.ts';
import { RunFolder, type RunPlan } from './run-folder.ts';
import { runIdOf } from '../../run/measure-run.ts';
import type { CollectOptions } from './command.ts';
import { ShardWatch } from './shard-status.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { CellRun } from '../../records/run.ts';
import { type OpenStore, openStore } from '../../store/file/open.ts';
import { RunWriter } from '../../store/runs/save-run.ts';
import { findSweep } from '../../store/sweeps/sweeps.ts';
import { failOn } from '../../cli/fail-on.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { usingStore } from '../../cli/with-store.ts';
import { follow, pendingLine } from './follow.ts';
import type { RunId } from '../../records/scalars.ts';

export async function collect(path: string, options: CollectOptions, io: Io): Promise<ExitCode> {
  const plan = await new RunFolder(resolve(io.cwd, path)).readPlan();
  const watch = new ShardWatch(plan, options, io);
  if (options.wait === true) await followOrLeave(watch, plan, options, io);
  const store = openStore(storeOf(plan, options, io), migrationsFolder());
  const work = async (): Promise<ExitCode> => {
    const unlock = await lockCollector(store, plan);
    try {
      return await collectInto(store, plan, watch, options, io);
    } finally {
      unlock();
    }
  };
  return usingStore(store, work);
}

async function followOrLeave(
  watch: ShardWatch,
  { folder, shards }: RunPlan,
  { maxPending, poll }: CollectOptions,
  io: Io,
): Promise<void> {
  try {
    await follow(watch, { shards: shards.length, pollS: poll, maxPendingS: maxPending }, io);
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const run = shellQuote(folder.path);
    throw new InterruptedError(
      `no longer followed; the jobs go on: \`bench slurm collect ${run} --wait\` follows them again, \`bench slurm cancel ${run}\` ends them`,
      { cause: error },
    );
  }
}

/** The store named, else the one the sweep was written to. */
function storeOf(plan: RunPlan, options: CollectOptions, io: Io): string {
  const isNamed = options.db !== undefined || Boolean(io.env['BENCH_DB']);
  return !isNamed && existsSync(dirname(plan.storePath)) ? plan.storePath : storePath(options.db, io);
}

/** One collector at a time per store and sweep. */
async function lockCollector(store: OpenStore, { sweep }: RunPlan): Promise<() => void> {
  const artefacts = artefactsFolderOf(store.path);
  const sweepFolder = sweepFolderOf(artefacts, sweep.sweepId);
  refuseLink(sweepFolder);
  await makeOwnFolder(artefacts);
  await mkdir(sweepFolder, { recursive: true });
  const attempt = tryAcquire(join(sweepFolder, '.collect.lock'));
  if (attempt.kind === 'taken') return () => attempt.lock.release();
  throw new UsageError(`${holderText(attempt.holder)} is collecting this run: wait for it`);
}

async function collectInto(
  store: OpenStore,
  plan: RunPlan,
  watch: ShardWatch,
  options: CollectOptions,
  io: Io,
): Promise<ExitCode> {
  const context = { db: store.db, writer: new RunWriter(store.db), artefactsFolder: artefactsFolderOf(store.path) };
  const first = await collectShards(plan, context, io);
  watch.addDone(first.shards);
  const rounds = [first];
  let statuses = await watch.look();
  for (const waitS of lateWaits(options.lateFiles)) {
    if (!statuses.some(isSettling) || statuses.some(isAtWork)) break;
    io.err(`note: some shards have ended without results: files may come late, ${waitS} s\n`);
    await sleep(waitS * 1000, undefined, { signal: io.signal });
    statuses = await watch.look();
  }
  if (statuses.filter(({ state }) => state === 'done').length > first.shards.size) {
    rounds.push(await collectShards(plan, context, io));
  }
  const cellRuns = cellRunsOf(store.db, [plan.sweep.sweepId]);
  statuses = withStoredBefore(statuses, plan, (runId) => context.writer.hasRun(runId));
  const last = rounds.at(-1) ?? first;
  await closeCollectedSweep(plan, last, context);
  for (const [reason, waiting] of Map.groupBy(statuses.filter(isStuck), (status) => status.reason)) {
    io.err(`${pendingLine(waiting, reason)}\n`);
  }
  const report: CollectOutput = {
    schemaVersion: 1,
    sweepId: plan.sweep.sweepId,
    runFolder: plan.folder.path,
    isFinished: findSweep(store.db, plan.sweep.sweepId)?.state === 'finished',
    stored: rounds.reduce((sum, round) => sum + round.stored, 0),
    alreadyStored: first.alreadyStored,
    incompleteCells: incompleteCells(plan, last.shards, cellRuns),
    refused: last.refused,
    counts: countStates(statuses),
    shards: statuses,
  };
  printResult(io, options, report, (_, look) => collectText(report, store.path, look));
  return failOn(options.failOn, {
    regression: false,
    unclear: false,
    failed: !report.isFinished || report.incompleteCells > 0 || report.refused.length > 0,
  });
}

/** The folder of a shard may be deleted once all its runs are stored. */
function withStoredBefore(
  statuses: readonly ShardStatus[],
  { stored: { plan }, shards, sweep: { sweepId } }: RunPlan,
  isStored: (runId: RunId) => boolean,
): ShardStatus[] {
  return statuses.map((status) => {
    const keys = new Set(shards[status.shard]?.cellKeys);
    return status.state !== 'done' &&
      plan.runs.every((run) => !keys.has(run.cellKey) || isStored(runIdOf(sweepId, run)))
      ? { ...status, state: 'done', reason: 'stored before; its folder is gone', lastLines: [] }
      : status;
  });
}

function isAtWork(status: ShardStatus): boolean {
  return (status.state === 'running' && !isSettling(status)) || status.state === 'queued';
}

function isStuck({ state, reason }: ShardStatus): boolean {
  return state === 'queued' && isHopeless(reason);
}

/** Network file systems may list folders a minute late: waits 15 s, then the rest. */
function lateWaits(totalS: number): number[] {
  const first = Math.min(15, totalS);
  return [first, totalS - first].filter((waitS) => waitS > 0);
}

/** Cells with missing runs in the collected shards. */
function incompleteCells(
  { stored: { plan }, shards }: RunPlan,
  collected: ReadonlySet<number>,
  cellRuns: readonly CellRun[],
): number {
  const measured = new Map<string, number>();
  for (const { cellKey, outcome, role } of cellRuns) {
    if (role !== 'timed' || outcome.kind !== 'measured') continue;
    measured.set(cellKey, (measured.get(cellKey) ?? 0) + 1);
  }
  return shards
    .filter(({ index }) => collected.has(index))
    .flatMap(({ cellKeys }) => cellKeys)
    .filter((key) => (measured.get(key) ?? 0) < plan.repeats).length;
}
