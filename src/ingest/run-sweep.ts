import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { writeSweepManifest } from '../artefacts/sweep-manifest.ts';
import type { ClockWish } from '../domain/clock-lock.ts';
import { variantNotes } from '../domain/conversion.ts';
import { median } from '../domain/median.ts';
import type { MoreRunsWanted } from '../domain/more-runs.ts';
import type { PlannedRun } from '../domain/plan.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { SweepCounts } from '../domain/sweep-event.ts';
import type { Sweep } from '../domain/sweep.ts';
import { hashOf } from '../domain/cell-key.ts';
import { lastMeasuredRuns } from '../store/cell-runs.ts';
import { saveSweep, saveSweepCells } from '../store/sweeps.ts';
import { attemptRun } from './attempt.ts';
import { type EngineState, fillRunArgs, provideEngine } from './engines.ts';
import { lockSweep } from './sweep-lock.ts';
import { recoverSweep } from './recover.ts';
import type { SweepContext } from './sweep-context.ts';
import { Variants } from './sweep-variants.ts';

/** A plan with what is needed to go on with it later: kept in the store and in `sweep.json`. */
export interface StoredPlan {
  readonly plan: SweepContext['plan'];
  readonly program: {
    readonly trtexec: string | null;
    readonly replayFolder: string | null;
    /** The interpreter that makes variants; null when none are needed. */
    readonly python: string | null;
  };
  /** Whether the machine is watched beside the runs. */
  readonly telemetry: boolean;
  /** Null when the plan is all there is to do. */
  readonly more: MoreRunsWanted | null;
  /** Null: clocks are left as they are. */
  readonly lockClocks: ClockWish | null;
  /** The folder of a run that was handed to Slurm; null when this process does it all. */
  readonly slurmRun: string | null;
}

/**
 * Does what a plan says, skipping what is stored already. Each result is stored the moment it is there, and a cell
 * that fails stops no other.
 * @throws InterruptedError on Ctrl-C, after the running process has been ended
 * @throws UsageError when another process measures the same sweep
 */
export async function runSweep(context: SweepContext, stored: StoredPlan): Promise<SweepCounts> {
  const unlock = lockSweep(context.artefactsFolder, context.sweep.sweepId);
  try {
    return await doPlan(context, stored);
  } finally {
    context.watch?.stop();
    unlock();
  }
}

async function doPlan(context: SweepContext, stored: StoredPlan): Promise<SweepCounts> {
  await openSweep(context, stored);
  await recoverSweep(context);
  const counts = { measured: 0, unfit: 0, failed: 0, skipped: 0, kept: 0, replaced: 0 };
  const engines = await provideEngines(context, counts);
  await doRuns(context, context.plan.runs, engines, counts);
  await doAgain(context, engines, counts);
  for (let more = context.moreRuns(); more.length > 0; more = context.moreRuns()) {
    context.onEvent({ kind: 'moreRuns', runs: more });
    await doRuns(context, more, engines, counts);
  }
  await closeSweep(context, stored);
  return counts;
}

async function doAgain(
  context: SweepContext,
  engines: ReadonlyMap<string, EngineState>,
  counts: MutableCounts,
): Promise<void> {
  const runs = context.againRuns();
  if (runs.length === 0) return;
  context.onEvent({ kind: 'measuredAgain', runs });
  const before = counts.measured;
  await doRuns(context, runs, engines, counts);
  counts.replaced += counts.measured - before;
}

type MutableCounts = { -readonly [Kind in keyof SweepCounts]: number };

async function doRuns(
  context: SweepContext,
  runs: readonly PlannedRun[],
  engines: ReadonlyMap<string, EngineState>,
  counts: MutableCounts,
): Promise<void> {
  for (const run of runs) {
    context.signal.throwIfAborted();
    const runId = runIdOf(context.sweep.sweepId, run);
    const engine = engines.get(run.buildRef);
    if (context.writer.hasRun(runId)) {
      counts.kept += 1;
      context.onEvent({ kind: 'runKept', run });
    } else if (engine?.kind !== 'ready') {
      counts.skipped += 1;
      context.onEvent({ kind: 'runSkipped', run });
    } else {
      const record = await startRun(context, run, runId, engine);
      counts[record.outcome.kind] += 1;
    }
  }
}

async function openSweep(context: SweepContext, stored: StoredPlan): Promise<void> {
  const { artefactsFolder, db, plan, sweep, writer } = context;
  await mkdir(artefactsFolder, { recursive: true });
  const ignore = join(artefactsFolder, '.gitignore');
  if (!existsSync(ignore)) await writeFile(ignore, '*\n');
  await saveState(context, stored, { ...sweep, state: 'running' });
  for (const { cell } of plan.cells) writer.saveCell(cell);
  saveSweepCells(
    db,
    sweep.sweepId,
    plan.cells.map(({ cell }) => ({ cellKey: cell.key, engineKey: null, repeats: plan.repeats })),
  );
}

async function closeSweep(context: SweepContext, stored: StoredPlan): Promise<void> {
  await saveState(context, stored, {
    ...context.sweep,
    state: 'finished',
    finishedAt: context.now().toISOString(),
  });
}

/** First on disk, then in the store: what the store knows can always be restored. */
export async function saveState(
  { artefactsFolder, db }: Pick<SweepContext, 'artefactsFolder' | 'db'>,
  stored: StoredPlan,
  sweep: Sweep,
): Promise<void> {
  await writeSweepManifest(artefactsFolder, sweep, stored);
  saveSweep(db, sweep, stored);
}

async function provideEngines(
  context: SweepContext,
  counts: { failed: number },
): Promise<Map<string, EngineState>> {
  const { hasMoreRuns, plan, signal, sweep, writer } = context;
  const needed = new Set(
    plan.runs
      .filter((run) => hasMoreRuns || !writer.hasRun(runIdOf(sweep.sweepId, run)))
      .map(({ buildRef }) => buildRef),
  );
  const engines = new Map<string, EngineState>();
  const variants = new Variants(context);
  for (const build of plan.builds) {
    signal.throwIfAborted();
    if (!needed.has(build.buildRef)) continue;
    const state = await provideEngine(context, build, variants);
    if (state.kind === 'failed') counts.failed += 1;
    engines.set(build.buildRef, state);
  }
  return engines;
}

async function startRun(
  context: SweepContext,
  run: PlannedRun,
  runId: string,
  { engine }: Extract<EngineState, { kind: 'ready' }>,
): Promise<RunRecord> {
  const { db, onEvent, plan, sweep } = context;
  onEvent({ kind: 'runStarted', run });
  const beforeMs = valueBefore(db, run.cellKey, sweep);
  const cell = plan.cells.find((planned) => planned.cell.key === run.cellKey)?.cell ?? null;
  const { minQueries, minWarmUpQueries } = run;
  const record = await attemptRun(context, {
    runId,
    args: fillRunArgs(run.args, engine.path),
    timeoutS: run.timeoutS,
    index: run.repeat - 1,
    manifest: {
      role: run.role,
      repeat: run.repeat,
      cell,
      requested: run.requested,
      limits: { minQueries, minWarmUpQueries },
      buildId: engine.buildId,
      engineKey: engine.engineKey,
      engineSha256: engine.sha256,
      variant: engine.variant,
      notes: [
        ...overlapNotes(run, plan),
        ...(engine.variant === null ? [] : variantNotes(engine.variant)),
      ],
    },
  });
  onEvent({
    kind: 'runDone',
    run,
    outcome: record.outcome,
    gpuComputeMs: record.log.measurement?.gpuComputeMs.median ?? null,
    throughputQps: record.log.measurement?.throughputQps ?? null,
    beforeMs,
    wallS: record.wallS ?? 0,
  });
  return record;
}

/** Layers on auxiliary streams run at the same time: the profiler's times cannot be added up. */
function overlapNotes({ role, buildRef }: PlannedRun, { builds }: SweepContext['plan']): string[] {
  const flags = builds.find((build) => build.buildRef === buildRef)?.flags ?? [];
  const hasAuxiliaryStreams = flags.some((flag) => /^--maxAuxStreams=[1-9]/.test(flag));
  return role === 'profile' && hasAuxiliaryStreams
    ? ['built with auxiliary streams: layers overlap, the sum of their times is no total']
    : [];
}

/** So many of a cell's last runs say what it took before. */
const LAST_RUNS = 5;

/** Median GPU compute time of the cell's runs in earlier sweeps; null without any. */
function valueBefore(db: SweepContext['db'], cellKey: string, sweep: Sweep): number | null {
  const runs = lastMeasuredRuns(db, cellKey, sweep.provenance, LAST_RUNS, sweep.sweepId);
  return median(runs.flatMap(({ values: { gpuComputeMs } }) => gpuComputeMs ?? []));
}

/** The same run of the same sweep always has the same id: that is how `--resume` knows what is there. */
function runIdOf(sweepId: string, { role, cellKey, repeat }: PlannedRun): string {
  return hashOf({ sweepId, role, cellKey, repeat });
}
