import { and, eq, isNotNull, type SQL, sql } from 'drizzle-orm';

import { byMetric, type CustomMetricId, METRIC_IDS } from '../../records/metric.ts';
import type { RunFlag } from '../../records/outcome.ts';
import type { CellRun } from '../../records/run.ts';
import { isAmong, ofSweep } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runValues as valuesOfRuns } from './run-values.ts';
import { failedWhere, outcomeFrom } from './runs.ts';
import { runs, runValues } from '../schema.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { flagsOf, hintsOf } from './run-details.ts';

/** Runs of cells in the order of measurement, without those of pairs. `cellKeys` defaults to all cells. */
export function cellRunsOf(db: StoreDatabase, sweepIds: readonly SweepId[], cellKeys?: readonly CellKey[]): CellRun[] {
  return cellRuns(db, sweepIds, ofSweep, cellKeys);
}

/** Runs of the pairs measured after a sweep, in the order of measurement. */
export function pairRunsOf(db: StoreDatabase, sweepId: SweepId, cellKeys?: readonly CellKey[]): CellRun[] {
  return cellRuns(db, [sweepId], eq(runs.role, 'pair'), cellKeys);
}

function cellRuns(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  isWanted: SQL | undefined,
  cellKeys?: readonly CellKey[],
): CellRun[] {
  // In a few sweeps, the index of cells would read all sweeps of a cell; `+` bypasses it.
  const isOfCell = cellKeys === undefined ? isNotNull(runs.cellKey) : sql`+${isAmong(runs.cellKey, cellKeys)}`;
  const which = and(isAmong(runs.sweepId, sweepIds), isWanted, isOfCell);
  const rows = valuesOfRuns(db, METRIC_IDS).where(which).orderBy(runs.startedAt, runs.repeat, runs.runId).all();
  const [flags, ofHarness] = [flagsOf(db, which), harnessValues(db, which)];
  const failing = rows.flatMap(({ outcome, runId }) => (outcome === 'unfit' || outcome === 'failed' ? runId : []));
  const outcomes = new Map(failedWhere(db, isAmong(runs.runId, failing)).map(({ runId, outcome }) => [runId, outcome]));
  return rows.flatMap(({ cellKey, inFlight, outcome: kind, reason, values: stored, ...run }): CellRun[] => {
    if (cellKey === null) return [];
    const values = byMetric((id) => stored[id] ?? null);
    const { latencyMs, throughputQps } = values;
    const isDerivable = inFlight === 1 && throughputQps === null && latencyMs !== null && latencyMs > 0;
    const derivedQps = isDerivable ? 1000 / latencyMs : null;
    const outcome = outcomes.get(run.runId) ?? outcomeFrom(kind, reason);
    const facts = { outcome, flags: flags.get(run.runId) ?? NO_FLAGS, derivedQps };
    return [{ ...run, cellKey, ...facts, values: { ...values, ...ofHarness.get(run.runId) } }];
  });
}

function harnessValues(db: StoreDatabase, whichRuns: SQL | undefined) {
  const byRun = new Map<string, Record<CustomMetricId, number>>();
  const { metric, position, runId: id, value } = runValues;
  const stored = db.select({ id, metric, value }).from(runs).innerJoin(runValues, eq(id, runs.runId));
  const rows = stored.where(whichRuns).orderBy(position).all();
  for (const row of rows) byRun.set(row.id, { ...byRun.get(row.id), [row.metric]: row.value });
  return byRun;
}

const NO_FLAGS: readonly RunFlag[] = [];

export interface NewestRun extends CellRun {
  /** IDs of hints from trtexec. */
  readonly hints: readonly string[];
}

/** The timed runs of each cell in its newest sweep, of ineligible runs only where a cell has no other; omits cells without runs. */
export function newestRunsOf(db: StoreDatabase, cellKeys: readonly CellKey[]): Map<CellKey, NewestRun[]> {
  const newest = new Map(
    db.$client
      .prepare<[string], { cellKey: CellKey; sweepId: SweepId }>(
        `SELECT e.value AS cellKey, last.sweep_id AS sweepId FROM json_each(?) e JOIN runs last ON last.run_id = (
           SELECT r.run_id FROM runs r INDEXED BY runs_by_cell WHERE r.cell_key = e.value AND r.role = 'timed'
           ORDER BY EXISTS (SELECT 1 FROM run_flags f WHERE f.run_id = r.run_id AND f.effect = 'barred'),
             r.started_at DESC, r.rowid DESC LIMIT 1)`,
      )
      .all(JSON.stringify(cellKeys))
      .map(({ cellKey, sweepId }) => [cellKey, sweepId]),
  );
  const timed = cellRunsOf(db, [...new Set(newest.values())], cellKeys).filter(
    ({ cellKey, role, sweepId }) => role === 'timed' && newest.get(cellKey) === sweepId,
  );
  const ids = timed.map(({ runId }) => runId);
  const hints = hintsOf(db, ids);
  const hinted = timed.map((run) => ({ ...run, hints: hints.get(run.runId) ?? [] }));
  return Map.groupBy(hinted, ({ cellKey }) => cellKey);
}
