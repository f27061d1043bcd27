import { cellsWithoutEngine } from '../../engines/engine-state.ts';
import { type Switch, summarizeCells, switchGains } from '../../judge/summarize-cells.ts';
import { LEAST_PRECISION_SHARE } from '../../layers/summarize-layers.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Plan } from '../../records/plan.ts';
import { realPrecisions } from '../../selection/actual-precisions.ts';
import { tunedBatches } from '../../selection/tuned-batches.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { Sweep } from '../../records/sweep.ts';
import { cellLabel } from '../../records/cell-label.ts';
import type { ShownSweep } from './output.ts';
import { UsageError } from '../../errors.ts';
import { median } from '../../statistics/order-statistics.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { MappedCell } from '../../terminal/charts/heat-map.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';

export type CellSummary = ReturnType<typeof summarizeCells>[number];

interface SweptCells {
  readonly sweep: Sweep;
  readonly cells: readonly KeyedCell[];
  readonly runs: readonly CellRun[];
  /** Null for a sweep without one, such as an import. */
  readonly plan: Plan | null;
  readonly counts: ShownSweep['counts'];
  readonly failures: ShownSweep['failures'];
}

/** The sweep in the form of `bench run` and `bench show SWEEP`. */
export function sweepReport(
  db: StoreDatabase,
  { sweep, cells, runs, plan, counts, failures }: SweptCells,
  { precisionShare = LEAST_PRECISION_SHARE }: { readonly precisionShare?: number | undefined },
) {
  const summaries = summarizeCells(
    cells,
    runs,
    plan === null ? new Map() : cellsWithoutEngine(db, sweep, plan),
    realPrecisions(db, cells, runs, [sweep.sweepId]),
    precisionShare,
    findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]),
    tunedBatches(db, cells, runs),
  );
  const output: ShownSweep = {
    schemaVersion: 1,
    ...sweep,
    counts,
    graphGains: gainsOf(summaries, 'cudaGraph'),
    transferCosts: gainsOf(summaries, 'dataTransfers'),
    neighborCosts: gainsOf(summaries, 'neighbor'),
    failures,
    cells: summaries.map(({ cell, others, noEngine, runsQps: _runs, ...numbers }) => ({
      key: cell.key,
      label: cellLabel(cell),
      ...numbers,
      noEngine: noEngine === null ? null : outcomeReason(noEngine),
      others: others.map(({ role, outcome, times }) => ({
        role,
        kind: outcome.kind === 'failed' ? 'failed' : 'unfit',
        reason: outcomeReason(outcome),
        times,
      })),
    })),
  };
  return { summaries, output };
}

function gainsOf(cells: readonly CellSummary[], by: Switch): ShownSweep['graphGains'] {
  const gains = switchGains(cells, by);
  return (
    gains && {
      medianPercent: gains.medianPercent,
      pairs: gains.pairs.map(({ without, with: one, ...numbers }) => ({
        withoutKey: without.cell.key,
        withKey: one.cell.key,
        ...numbers,
      })),
    }
  );
}

/**
 * Values of a map: the requested metric, else the metric of the table.
 * @throws UsageError when no cell has the metric
 */
export function mappedCells(
  cells: readonly CellSummary[],
  runs: readonly CellRun[],
  requested: MetricId | null,
): readonly MappedCell[] {
  if (requested === null) return cells;
  const byCell = Map.groupBy(runs.filter(isMeasured), ({ cellKey }) => cellKey);
  const mapped = cells.flatMap(({ cell }) => {
    const values = (byCell.get(cell.key) ?? []).flatMap((run) => run.values[requested] ?? []);
    // A harness without the requested metric has no value.
    return values.length === 0 && cell.harness !== undefined && cell.harness.metric !== requested
      ? []
      : [{ cell, metric: requested, value: median(values) }];
  });
  if (mapped.some(({ value }) => value !== null)) return mapped;
  throw new UsageError(`--metric ${printable(metricOf(requested).label)}: no cell of this sweep has it`);
}
