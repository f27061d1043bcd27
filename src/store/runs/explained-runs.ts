import { and, eq, inArray } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';

import type { CellInputs } from '../../records/cell.ts';
import { UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import type { EngineIdentity, ExplainedRun } from '../../layers/explained-run.ts';
import { findFlag } from '../../trtexec/flags/flag-table.ts';
import { findEnvironments } from '../sweeps/environments.ts';
import { hintsOf } from './layer-runs.ts';
import { flagValue, type ImportedBuild, importedBuilds, statedArguments } from '../builds/loaded-engines.ts';
import type { StoreDatabase } from '../file/open.ts';
import { flagsOf, telemetryOf } from './run-facts.ts';
import { outcomeFrom } from './runs.ts';
import { builds, invocations, measurements, runs, timeStatistics } from '../schema.ts';

const gpu = alias(timeStatistics, 'gpu');
const latency = alias(timeStatistics, 'latency');
const enqueue = alias(timeStatistics, 'enqueue');
const h2d = alias(timeStatistics, 'h2d');
const d2h = alias(timeStatistics, 'd2h');

export interface ExplainedCell {
  readonly cellKey: string;
  readonly inputs: CellInputs;
  readonly sweepIds: readonly string[];
  /** Null for all timed runs of the cell in the sweeps. */
  readonly runId: string | null;
}

/** The timed runs of a cell with everything that may explain their numbers, the oldest first. */
export function explainedRuns(db: StoreDatabase, cell: ExplainedCell): ExplainedRun[] {
  const rows = db
    .select({
      runId: runs.runId,
      sweepId: runs.sweepId,
      outcome: runs.outcome,
      reason: runs.reason,
      environmentId: runs.environmentId,
      buildId: runs.buildId,
      engineSha256: runs.engineSha256,
      argv: invocations.argv,
      banner: invocations.banner,
      modelSha256: builds.modelSha256,
      buildFlags: builds.flags,
      centreMs: measurements.gpuComputeCentreMs,
      throughputQps: measurements.throughputQps,
      cvPercent: measurements.cvPercent,
      gpuBusy: measurements.gpuBusy,
      gpuMs: gpu.medianMs,
      gpuMeanMs: gpu.meanMs,
      latencyMs: latency.medianMs,
      enqueueMs: enqueue.medianMs,
      h2dMs: h2d.medianMs,
      d2hMs: d2h.medianMs,
    })
    .from(runs)
    .innerJoin(measurements, eq(measurements.runId, runs.runId))
    .innerJoin(invocations, eq(invocations.invocationId, runs.invocationId))
    .leftJoin(builds, eq(builds.buildId, runs.buildId))
    .leftJoin(gpu, and(eq(gpu.runId, runs.runId), eq(gpu.metric, 'gpuCompute')))
    .leftJoin(latency, and(eq(latency.runId, runs.runId), eq(latency.metric, 'latency')))
    .leftJoin(enqueue, and(eq(enqueue.runId, runs.runId), eq(enqueue.metric, 'enqueue')))
    .leftJoin(h2d, and(eq(h2d.runId, runs.runId), eq(h2d.metric, 'h2d')))
    .leftJoin(d2h, and(eq(d2h.runId, runs.runId), eq(d2h.metric, 'd2h')))
    .where(
      and(
        eq(runs.cellKey, cell.cellKey),
        eq(runs.role, 'timed'),
        cell.runId === null ? inArray(runs.sweepId, [...cell.sweepIds]) : eq(runs.runId, cell.runId),
      ),
    )
    .orderBy(runs.startedAt, runs.repeat, runs.runId)
    .all();
  const ids = rows.map(({ runId }) => runId);
  const hints = hintsOf(db, ids);
  const flags = flagsOf(db, inArray(runs.runId, ids));
  const telemetry = telemetryOf(db, ids);
  const environments = findEnvironments(db, [...new Set(rows.map(({ environmentId }) => environmentId))]);
  const built = importedBuilds(db, cell.sweepIds);
  return rows.map((row) => {
    const argv = statedArguments(row);
    const path = flagValue(argv, '--loadEngine') ?? flagValue(argv, '--saveEngine');
    const engine: EngineIdentity = {
      buildId: row.buildId,
      sha256: row.engineSha256,
      path,
      modelSha256: row.modelSha256,
      flags: row.buildFlags === null ? builtFlags(built.get(path ?? '')) : row.buildFlags.toSorted(),
    };
    return {
      runId: row.runId,
      sweepId: row.sweepId,
      outcome: outcomeFrom(row.outcome, row.reason),
      gpuComputeMs: row.centreMs ?? row.gpuMs,
      gpuComputeMeanMs: row.gpuMeanMs,
      latencyMs: row.latencyMs,
      throughputQps: row.throughputQps,
      enqueueMs: row.enqueueMs,
      h2dMs: row.h2dMs,
      d2hMs: row.d2hMs,
      cvPercent: row.cvPercent,
      gpuBusy: row.gpuBusy,
      hints: hints.get(row.runId) ?? [],
      flags: flags.get(row.runId) ?? [],
      telemetry: telemetry.get(row.runId) ?? null,
      environment: environments.get(row.environmentId) ?? UNKNOWN_ENVIRONMENT,
      engine,
      runFlags: flagsIn(argv, ['inference', 'both']),
      inputs: cell.inputs,
    };
  });
}

/** Build flags of imported runs: nobody tied them to their engines. */
function builtFlags(build: ImportedBuild | undefined): readonly string[] | null {
  return build === undefined ? null : flagsIn(build.argv, ['build', 'both']);
}

/** How long, how often and where to: not what is measured. */
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
