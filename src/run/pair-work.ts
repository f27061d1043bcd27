import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { ATTEMPT_PREFIX, sweepFolderOf } from '../artefacts/layout.ts';
import { filledArgs, loadableEngine } from '../engines/engine-state.ts';
import { nextPairRun, pairOf, type PairSide, sideOf, wantedRuns } from '../judge/gate/judge-pairs.ts';
import type { PlannedRun } from '../records/plan.ts';
import type { PlannedPairs } from '../records/gate-settings.ts';
import { pairRunsOf } from '../store/runs/cell-runs.ts';
import { startOnce } from './attempt.ts';
import { measureRun, runIdOf } from './measure-run.ts';
import type { PairEngine, SuspectPairs, SweepContext } from './sweep-context.ts';

/** Measures suspects one after the other on the GPU of one worker. */
export async function measurePairs(
  worker: SweepContext,
  all: readonly PlannedPairs[],
  suspects: SuspectPairs,
): Promise<void> {
  for (const planned of all) {
    worker.signal.throwIfAborted();
    const made = runsOf(worker, planned);
    if (planned.problem !== null) continue;
    if (nextPairRun(planned, made) !== null) {
      if (suspects.isOver(planned)) continue;
      const engines = new Map<PairSide, PairEngine | null>();
      for (const side of ['newest', 'lastGood'] as const) {
        engines.set(side, await suspects.engineOf(worker, planned, side));
      }
      const missing = Math.max(0, wantedRuns(planned) - made.length);
      const run = engines.get('newest')?.run;
      if (run !== undefined) worker.onEvent({ kind: 'moreRuns', runs: Array.from({ length: missing }, () => run) });
      if (!(await measureBoth(worker, planned, engines))) continue;
    }
    await suspects.onMeasured(worker, planned);
  }
}

/** False when an engine is not there. */
async function measureBoth(
  worker: SweepContext,
  planned: PlannedPairs,
  engines: ReadonlyMap<PairSide, PairEngine | null>,
): Promise<boolean> {
  const warm = new Set<PairSide>();
  for (;;) {
    const made = runsOf(worker, planned);
    const repeat = nextPairRun(planned, made);
    if (repeat === null) return true;
    const side = sideOf(repeat);
    const engine = engines.get(side) ?? null;
    if (engine === null) return false;
    // In place of a run that could not be used.
    if (made.length >= wantedRuns(planned)) worker.onEvent({ kind: 'moreRuns', runs: [engine.run] });
    if (!warm.has(side)) await warmUp(engine);
    warm.add(side);
    await measurePairRun(engine, repeat);
  }
}

export async function measurePairRun({ context, engine, run }: PairEngine, repeat: number): Promise<void> {
  const ofPair: PlannedRun = { ...run, role: 'pair', repeat };
  await measureRun(context, ofPair, runIdOf(context.sweep.sweepId, ofPair), loadableEngine(engine), pairOf(repeat));
}

/** A run that is thrown away: the first one after other engines loads files and code from the disk. */
async function warmUp({ context, engine, run }: PairEngine): Promise<void> {
  if (context.program.recordings !== null) return;
  const folder = join(sweepFolderOf(context.artefactsFolder, context.sweep.sweepId), `${ATTEMPT_PREFIX}warm-up`);
  try {
    await mkdir(folder, { recursive: true });
    const attempt = {
      runId: 'warm-up',
      label: run.cellKey,
      args: filledArgs(run.args, { engine: engine.path }),
      harness: null,
      env: run.env,
      timeoutS: run.timeoutS,
      limits: run.limits,
      index: 0,
      manifest: { role: 'pair' as const },
    };
    await (await startOnce(context, attempt, folder)).watched();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runsOf({ db, sweep }: SweepContext, { cellKey }: PlannedPairs) {
  return pairRunsOf(db, sweep.sweepId, [cellKey]);
}
