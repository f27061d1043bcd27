import { and, eq, inArray } from 'drizzle-orm';

import type { EngineIdentity } from '../../layers/explained-run.ts';
import type { CellInputs } from '../../records/cell.ts';
import { UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import type { StoreDatabase } from '../file/open.ts';
import { importedBuilds, statedArguments } from '../builds/loaded-engines.ts';
import { hintsOf } from './layer-runs.ts';
import { centreValue, printedValue, statisticOf } from './run-values.ts';
import { flagsOf, telemetryOf } from './run-facts.ts';
import { outcomeFrom } from './runs.ts';
import { builds, invocations, measurements, runs } from '../schema.ts';
import { findEnvironments } from '../sweeps/environments.ts';
import { findFlag, flagValue } from '../../trtexec/flags/flag-table.ts';
import type { CellKey, RunId, SweepId } from '../../records/scalars.ts';

export interface ExplainedCell {
  readonly cellKey: CellKey;
  readonly inputs: CellInputs;
  readonly sweepIds: readonly SweepId[];
  /** Null for all timed runs of the cell in the sweeps. */
  readonly runId: RunId | null;
}

/**
 * The timed runs of a cell with everything that may explain their numbers, oldest first. They have both kinds of GPU
 * time, because the runs of both sides decide which one counts.
 */
export function explainedRuns(db: StoreDatabase, cell: ExplainedCell) {
  const isChosen = cell.runId === null ? inArray(runs.sweepId, [...cell.sweepIds]) : eq(runs.runId, cell.runId);
  const rows = db
    .select({
      runId: runs.runId,
      sweepId: runs.sweepId,
      outcome: runs.outcome,
      reason: runs.reason,
      provenance: runs.provenance,
      notes: runs.notes,
      environmentId: runs.environmentId,
      buildId: runs.buildId,
      engineSha256: runs.engineSha256,
      argv: invocations.argv,
      banner: invocations.banner,
      modelSha256: builds.modelSha256,
      buildFlags: builds.flags,
      gpuCompute: { printed: printedValue('gpuComputeMs'), centre: centreValue('gpuComputeMs') },
      latency: { printed: printedValue('latencyMs'), centre: centreValue('latencyMs') },
      gpuComputeMeanMs: statisticOf('gpuCompute', 'meanMs'),
      throughputQps: measurements.throughputQps,
      enqueueMs: printedValue('enqueueMs'),
      h2dMs: statisticOf('h2d', 'medianMs'),
      d2hMs: statisticOf('d2h', 'medianMs'),
      cvPercent: measurements.cvPercent,
      gpuBusy: measurements.gpuBusy,
      boundBy: measurements.boundBy,
    })
    .from(runs)
    .innerJoin(measurements, eq(measurements.runId, runs.runId))
    .innerJoin(invocations, eq(invocations.invocationId, runs.invocationId))
    .leftJoin(builds, eq(builds.buildId, runs.buildId))
    .where(and(eq(runs.cellKey, cell.cellKey), eq(runs.role, 'timed'), isChosen))
    .orderBy(runs.startedAt, runs.repeat, runs.runId)
    .all();
  const ids = rows.map(({ runId }) => runId);
  const hints = hintsOf(db, ids);
  const flags = flagsOf(db, inArray(runs.runId, ids));
  const telemetry = telemetryOf(db, ids);
  const environments = findEnvironments(db, [...new Set(rows.map(({ environmentId }) => environmentId))]);
  const built = importedBuilds(db, cell.sweepIds);
  return rows.map(
    ({
      argv,
      banner,
      outcome,
      reason,
      environmentId,
      buildId,
      engineSha256,
      modelSha256,
      buildFlags,
      provenance,
      notes,
      ...run
    }) => {
      const parts = statedArguments({ argv, banner });
      const path = flagValue(parts, '--loadEngine') ?? flagValue(parts, '--saveEngine');
      const engine: EngineIdentity = {
        buildId,
        sha256: engineSha256,
        path,
        modelSha256,
        flags: buildFlags?.toSorted() ?? builtFlags(built.get(path ?? '')?.argv ?? ownBuild(parts)),
      };
      return {
        ...run,
        outcome: outcomeFrom(outcome, reason),
        hints: hints.get(run.runId) ?? [],
        flags: flags.get(run.runId) ?? [],
        telemetry: telemetry.get(run.runId) ?? null,
        environment: environments.get(environmentId) ?? UNKNOWN_ENVIRONMENT,
        engine,
        runFlags: flagsIn(parts, ['inference', 'both']),
        inputs: cell.inputs,
        importNotes: provenance === 'imported' ? notes : [],
      };
    },
  );
}

/** Build options of an imported run, which is not linked to its engine. */
function builtFlags(argv: readonly string[] | null): readonly string[] | null {
  return argv === null ? null : flagsIn(argv, ['build', 'both']);
}

/** A process that loaded no engine built one. */
function ownBuild(argv: readonly string[]): readonly string[] | null {
  const isBuilt = flagValue(argv, '--onnx') !== null && flagValue(argv, '--loadEngine') === null;
  return isBuilt ? argv : null;
}

/** Options for duration, repetition and outputs, which do not change what is measured. */
const NOT_COMPARED = new Set([
  '--loadEngine',
  '--saveEngine',
  '--onnx',
  '--timingCacheFile',
  '--warmUp',
  '--duration',
  '--iterations',
  '--skipInference',
  '--profilingVerbosity',
  '--verbose',
  '--separateProfileRun',
]);

function flagsIn(argv: readonly string[], phases: readonly string[]): string[] {
  return argv
    .filter((part) => {
      const name = part.split('=', 1)[0] ?? '';
      const flag = findFlag(name);
      return flag !== undefined && !flag.isPath && !NOT_COMPARED.has(name) && phases.includes(flag.phase);
    })
    .toSorted();
}
