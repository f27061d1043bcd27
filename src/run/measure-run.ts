import { variantNotes } from '../records/conversion.ts';
import type { PlannedRun } from '../records/plan.ts';
import type { SweepContext } from './sweep-context.ts';
import type { RunRecord } from '../records/run.ts';
import { hashOf } from '../text/canonical-json.ts';
import { type EndedAttempt, startAttempt } from './attempt.ts';
import type { Attempt } from './start.ts';
import { type LoadableEngine, filledArgs } from '../engines/engine-state.ts';
import type { RunId, SweepId } from '../records/scalars.ts';

/**
 * Measures one run; the caller stores it. @throws as `startAttempt`
 * @param engine null for a harness other than trtexec
 * @param index counts from 0; recordings of the same cell are used in turn
 * @param neighbor engine of the neighbor, if the run has one
 */
export async function startRun(
  context: SweepContext,
  run: PlannedRun,
  runId: RunId,
  engine: LoadableEngine | null,
  index = run.repeat - 1,
  neighbor: LoadableEngine | null = null,
): Promise<EndedAttempt> {
  const { onEvent } = context;
  onEvent({ kind: 'runStarted', run });
  const ended = await startAttempt(context, attemptOf(context, run, runId, engine, index, neighbor));
  const store = async (): Promise<RunRecord> => {
    const record = await ended.store();
    onEvent({ kind: 'runDone', run, record });
    return record;
  };
  return { isWell: ended.isWell, store };
}

export function attemptOf(
  { plan }: Pick<SweepContext, 'plan'>,
  run: PlannedRun,
  runId: RunId,
  engine: LoadableEngine | null,
  index: number,
  neighbor: LoadableEngine | null,
): Attempt {
  const plannedCell = plan.cells.find((planned) => planned.cell.key === run.cellKey);
  const { minQueries, minWarmUpQueries } = run;
  const { build = null, buildId = null, engineKey = null, sha256: engineSha256 = null, variant = null } = engine ?? {};
  return {
    runId,
    label: plannedCell?.label ?? run.cellKey,
    args: engine === null ? run.args : enginePaths(run.args, engine),
    harness: run.harness,
    ...(run.neighbor && neighbor && { neighborArgs: enginePaths(run.neighbor.args, neighbor) }),
    env: run.env,
    timeoutS: run.timeoutS,
    limits: run.limits,
    index,
    manifest: {
      role: run.role,
      repeat: run.repeat,
      cell: plannedCell?.cell ?? null,
      requested: run.requested,
      marks: [...run.marks],
      limits: { minQueries, minWarmUpQueries },
      ...(run.harness === null ? {} : { harness: { driver: run.harness.driver, settings: run.harness.settings } }),
      ...(engine && { build, buildId, engineKey, engineSha256, variant }),
      notes: [...run.notes, ...(engine?.notes ?? []), ...(engine?.variant ? variantNotes(engine.variant) : [])],
    },
  };
}

function enginePaths(args: readonly string[], { path, variantPath }: LoadableEngine): string[] {
  return filledArgs(args, { engine: path, variant: variantPath });
}

/** The ID of a run, which follows from its plan, so that `--resume` finds stored runs. */
export function runIdOf(sweepId: SweepId, { role, cellKey, repeat }: PlannedRun): string {
  return hashOf({ sweepId, role, cellKey, repeat });
}
