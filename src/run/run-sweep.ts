import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { makeOwnFolder, namesIn } from '../files/folders.ts';
import { ATTEMPT_PREFIX, isTemporary, sweepFolderOf } from '../files/layout.ts';
import { readRunFolder } from '../artefacts/read/read-run.ts';
import { writeSweepManifest } from '../artefacts/sweep-notes.ts';
import { BenchError, EnvironmentLackingError } from '../errors.ts';
import { disturbedCells } from '../judge/run-trust.ts';
import { endOrphans } from '../process/process-identity.ts';
import type { Plan, PlannedRun } from '../records/plan.ts';
import { type CellKey, isId } from '../records/scalars.ts';
import type { Sweep } from '../records/sweep.ts';
import { cellRunsOf } from '../store/runs/cell-runs.ts';
import { planOf, savePlannedCells, saveSweep } from '../store/sweeps/sweeps.ts';
import type { Io } from '../cli/io.ts';
import { lockClocks } from '../machine/clock-lock.ts';
import type { Machine } from '../machine/machine.ts';
import type { ClockRequest } from '../machine/requests.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import { type RecordingSet, readRecordingSet, recordedRuns } from '../trtexec/replay/recording-set.ts';
import { sqliteRefusal } from '../store/file/store-file.ts';
import { finishRun, hasEnded, saveRead } from './attempt.ts';
import { asDiskFull, requireStore } from './requirements.ts';
import { readStoredPlan, type StoredPlan } from './stored-plan.ts';
import type { Side, SweepContext, SweepCounts, Turn } from './sweep-context.ts';
import { lockSweep } from './planned-sweep.ts';
import { measureInTurns, UnfitRoundError } from './measure-in-turns.ts';

/**
 * Measures a sweep under its lock, and closes it. After a failure it stays open; one that was stopped is interrupted.
 * @throws as `runSweep`
 */
export async function inSweep<Result>(
  workers: Side['workers'],
  stored: StoredPlan,
  measure: () => Promise<Result>,
): Promise<Result> {
  const [{ artefactsFolder, sweep }] = workers;
  const unlock = lockSweep(artefactsFolder, sweep.sweepId);
  // The first lines of the samplers take a moment, during which the sweep opens.
  for (const { watch } of workers) void watch?.begin();
  try {
    await openSweep(workers[0], stored, workers[0].plan);
    await recoverSweep(workers[0]);
    const result = await measure();
    await closeSweep(workers[0], stored);
    await measureSuspects(workers, stored);
    return result;
  } catch (error) {
    const problem = asDiskFull(workers[0], error);
    const isStopped = workers[0].signal.aborted || error instanceof UnfitRoundError;
    if (isStopped || (!(problem instanceof BenchError) && sqliteRefusal(error) !== null)) requireStore(workers[0]);
    if (isStopped) {
      // Includes the pairs that were chosen in the meantime.
      const latest = readStoredPlan(planOf(workers[0].db, sweep.sweepId)) ?? stored;
      await saveState(workers[0], latest, { ...sweep, state: 'interrupted' });
    }
    throw problem;
  } finally {
    for (const { watch } of workers) watch?.stop();
    workers[0].cache.release();
    unlock();
  }
}

/**
 * Executes a plan and skips stored runs: the runs of the plan, then replacements of disturbed runs, then further runs
 * where the results do not suffice. Each result is stored at once, and a failed cell does not stop the others.
 * @param workers one for each GPU; the first one represents the sweep if all are equal
 * @throws InterruptedError on Ctrl-C, after the running processes have ended
 * @throws DiskFullError when there is no more space
 * @throws StoreLostError when the store was deleted, replaced or damaged in the meantime
 * @throws UsageError when another process measures the same sweep
 */
export async function runSweep(workers: Side['workers'], stored: StoredPlan): Promise<SweepCounts> {
  const [first] = workers;
  const side = { workers };
  const turnsOf = (runs: readonly PlannedRun[]): Turn[] => runs.map((run) => ({ side, run }));
  return inSweep(workers, stored, () =>
    measureInTurns([side], stored.gpus?.cells ?? {}, function* rounds(counts) {
      yield turnsOf(first.plan.runs);
      const again = runsToMeasureAgain(first);
      if (again.length > 0) {
        const before = counts.measured;
        first.onEvent({ kind: 'measuredAgain', runs: again });
        const coolToC = coolerTemperatures(first);
        yield turnsOf(again).map((turn) => ({ ...turn, coolToC: coolToC.get(turn.run.cellKey) }));
        counts.replaced += counts.measured - before;
      }
      for (let more = first.moreRuns(); more.length > 0; more = first.moreRuns()) {
        first.onEvent({ kind: 'moreRuns', runs: more });
        yield turnsOf(more);
      }
    }),
  );
}

/** The sweep is marked as finished before its suspects are chosen, and again after they are measured. */
async function measureSuspects(workers: Side['workers'], stored: StoredPlan): Promise<void> {
  const [first] = workers;
  const { suspects, sweep } = first;
  const pairs = (await suspects?.decide()) ?? [];
  if (suspects === null || pairs.length === 0) return;
  const withPairs = { ...stored, pairs };
  await saveState(first, withPairs, { ...sweep, state: 'running' });
  const places = new Map(workers.map(({ gpu }, place) => [gpu?.uuid, place]));
  const cells = stored.gpus?.cells ?? {};
  const byGpu = workers.map((_, place) => pairs.filter(({ cellKey }) => (places.get(cells[cellKey]) ?? 0) === place));
  const side = { workers };
  await measureInTurns([side], cells, () => suspects.rounds(side, byGpu));
  await closeSweep(first, withPairs);
}

/** Begins a sweep in the store, or goes on with it. */
export async function openSweep(
  { artefactsFolder, db, sweep, writer }: Pick<SweepContext, 'artefactsFolder' | 'db' | 'sweep' | 'writer'>,
  stored: StoredPlan,
  { cells: planned, repeats, runs }: Plan = stored.plan,
): Promise<void> {
  await makeOwnFolder(artefactsFolder);
  await saveState({ artefactsFolder, db }, stored, { ...sweep, state: 'running' });
  const withRuns = new Set(runs.map(({ cellKey }) => cellKey));
  const cells = planned.flatMap(({ cell }) => (withRuns.has(cell.key) ? [cell] : []));
  savePlannedCells({ db, writer }, sweep.sweepId, cells, repeats);
}

async function closeSweep(context: SweepContext, stored: StoredPlan): Promise<void> {
  requireStore(context);
  await saveState(context, stored, { ...context.sweep, state: 'finished', finishedAt: context.now().toISOString() });
}

/** Writes to the disk first and then to the store, so that the store can always be restored. */
export async function saveState(
  { artefactsFolder, db }: Pick<SweepContext, 'artefactsFolder' | 'db'>,
  stored: StoredPlan,
  sweep: Sweep,
): Promise<void> {
  await writeSweepManifest(artefactsFolder, { sweep, plan: stored, importedAt: null });
  saveSweep(db, sweep, stored);
}

/** Idempotent cleanup after a kill: ends processes, stores finished runs, removes incomplete ones. */
async function recoverSweep(context: SweepContext): Promise<void> {
  const folder = sweepFolderOf(context.artefactsFolder, context.sweep.sweepId);
  endOrphans(context.onNote);
  for (const name of namesIn(folder)) {
    if (name.startsWith(ATTEMPT_PREFIX)) {
      const runId = name.slice(ATTEMPT_PREFIX.length);
      if (isId(runId) && hasEnded(join(folder, name))) await finishRun(context, join(folder, name), runId);
      else await rm(join(folder, name), { recursive: true, force: true });
    } else if (isId(name) && !context.writer.hasRun(name)) {
      const [read] = await readRunFolder(join(folder, name));
      if (read !== undefined) saveRead(context, read, name);
    } else if (isTemporary(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
  await context.cache.sweepUp();
  await context.variants?.cache.sweepUp();
}

/** One more run for each disturbed run, counted from the store so that a resume does not add runs twice. */
function runsToMeasureAgain({ db, plan, program, sweep }: SweepContext): PlannedRun[] {
  const recorded = recordedOf(plan, program.recordings?.folder);
  const disturbed = disturbedCells(cellRunsOf(db, [sweep.sweepId]), plan.repeats);
  return disturbed.flatMap(({ cellKey, missing, highestRepeat }) => {
    const planned = plan.runs.find((run) => run.role === 'timed' && run.cellKey === cellKey);
    if (planned === undefined) return [];
    return Array.from({ length: missing }, (_, place) => ({ ...planned, repeat: highestRepeat + 1 + place })).filter(
      ({ repeat }) => repeat <= recorded(cellKey),
    );
  });
}

/** Far enough below the temperature at which the GPU was throttled that a run of seconds does not reach it again. */
const COOLER_BY_C = 10;

/** For each cell that heat throttled, the temperature in degrees Celsius at which it is measured again. */
function coolerTemperatures({ db, sweep }: SweepContext): Map<CellKey, number> {
  const timed = cellRunsOf(db, [sweep.sweepId]);
  return new Map(
    timed.flatMap(({ cellKey, flags, outcome, values: { temperatureC } }) => {
      const isHot = outcome.kind === 'unfit' && flags.some(({ id }) => id === 'thermalSlowdown');
      return isHot && temperatureC !== null ? [[cellKey, temperatureC - COOLER_BY_C]] : [];
    }),
  );
}

/** Runs available per cell of a plan. @param folder the recordings; none for a real trtexec, which is never out of runs */
export function recordedOf(plan: Plan, folder: string | null | undefined): (cellKey: CellKey) => number {
  if (folder === null || folder === undefined) return () => Infinity;
  let set: RecordingSet | null = null;
  return (key) => recordedRuns((set ??= readRecordingSet(folder)), plan, key);
}

type Machines = readonly [Machine, ...Machine[]];

/**
 * Runs `work` with locked clocks, and always releases them. `work` receives the machines with their clock policy.
 * @param request null if not requested
 */
export async function withLockedClocks<Result>(
  request: ClockRequest | null,
  machines: Machines,
  program: TrtexecProgram,
  io: Io,
  work: (machines: Machines) => Promise<Result>,
): Promise<Result> {
  if (request === null || program.recordings !== null) return work(machines);
  const devices = machines.flatMap(({ device }) => device ?? []);
  const gpus = new Map(devices.map(({ boardUuid, name }) => [boardUuid, name]));
  if (gpus.size === 0) {
    const unsure = 'it is not certain which GPU is used: name it by its UUID in CUDA_VISIBLE_DEVICES';
    throw new EnvironmentLackingError(`clocks cannot be locked: ${machines[0].note ?? unsure}`);
  }
  const locks: ReturnType<typeof lockClocks>[] = [];
  const around = { env: io.env, now: io.now, say: (line: string): void => io.err(`${line}\n`) };
  try {
    for (const [gpuUuid, gpuName] of gpus) {
      io.signal.throwIfAborted();
      locks.push(lockClocks({ gpuUuid, gpuName }, request, around));
    }
    const clockPolicy = [...new Set(locks.map(({ policy }) => policy))].join(', ');
    const withPolicy = (machine: Machine): Machine => ({
      ...machine,
      environment: { ...machine.environment, clockPolicy },
    });
    const [first, ...others] = machines;
    return await work([withPolicy(first), ...others.map(withPolicy)]);
  } finally {
    for (const lock of locks) lock.release();
  }
}
