import { and, eq, isNotNull, type SQL, sql } from 'drizzle-orm';

import { byMetric, type CustomMetricId, METRIC_IDS } from '../../records/metric.ts';
import { isFine } from '../../records/outcome.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { CellRun } from '../../records/run.ts';
import { isAmong, ofSweep } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { hintsOf } from './layer-runs.ts';
import { flagsOf } from './run-facts.ts';
import { runValues as valuesOfRuns } from './run-values.ts';
import { failedAmong, outcomeFrom } from './runs.ts';
import { runMethods, runs, runValues } from '../schema.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

const select = (db: StoreDatabase) => valuesOfRuns(db, METRIC_IDS);

type CellRunRow = ReturnType<ReturnType<typeof select>['all']>[number];

function fromRow(row: CellRunRow, flags: readonly RunFlag[], own: Values, isOneByOne: boolean): CellRun[] {
  const { cellKey, reason, outcome: kind, values: stored, ...run } = row;
  if (cellKey === null) return [];
  const values = byMetric((id) => stored[id] ?? null);
  const { latencyMs, throughputQps } = values;
  const isDerivable = isOneByOne && throughputQps === null && latencyMs !== null && latencyMs > 0;
  const [outcome, derivedQps] = [outcomeFrom(kind, reason), isDerivable ? 1000 / latencyMs : null];
  return [{ ...run, cellKey, outcome, flags, values: { ...values, ...own }, derivedQps }];
}

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
  const rows = select(db).where(which).orderBy(runs.startedAt, runs.repeat, runs.runId).all();
  const complete = completed(db, rows, which);
  const failing = complete.filter(({ outcome }) => !isFine(outcome)).map(({ runId }) => runId);
  if (failing.length === 0) return complete;
  const outcomes = new Map(failedAmong(db, failing).map(({ runId, outcome }) => [runId, outcome]));
  return complete.map((run) => ({ ...run, outcome: outcomes.get(run.runId) ?? run.outcome }));
}

/** @param which condition that selects the runs of these rows */
function completed(db: StoreDatabase, rows: readonly CellRunRow[], which: SQL | undefined): CellRun[] {
  const [flags, values, oneByOne] = [flagsOf(db, which), valuesOf(db, which), oneByOneRuns(db, which)];
  return rows.flatMap((row) =>
    fromRow(row, flags.get(row.runId) ?? NO_FLAGS, values.get(row.runId) ?? NO_VALUES, oneByOne.has(row.runId)),
  );
}

type Values = Readonly<Partial<Record<CustomMetricId, number>>>;

const NO_VALUES: Values = {};

function valuesOf(db: StoreDatabase, whichRuns: SQL | undefined): Map<string, Values> {
  const byRun = new Map<string, Record<CustomMetricId, number>>();
  // Most stores have no custom values, and this query avoids a join over all runs.
  if (db.select({ runId: runValues.runId }).from(runValues).limit(1).get() === undefined) return byRun;
  const { metric, position, runId: id, value } = runValues;
  const stored = db.select({ id, metric, value }).from(runs).innerJoin(runValues, eq(id, runs.runId));
  const rows = stored.where(whichRuns).orderBy(position).all();
  for (const row of rows) byRun.set(row.id, { ...byRun.get(row.id), [row.metric]: row.value });
  return byRun;
}

function oneByOneRuns(db: StoreDatabase, whichRuns: SQL | undefined): Set<string> {
  const { inFlight, runId } = runMethods;
  if (db.select({ runId }).from(runMethods).limit(1).get() === undefined) return new Set();
  const methods = db.select({ runId }).from(runs).innerJoin(runMethods, eq(runId, runs.runId));
  const rows = methods.where(and(whichRuns, eq(inFlight, 1))).all();
  return new Set(rows.map((row) => row.runId));
}

const NO_FLAGS: readonly RunFlag[] = [];

export interface NewestRun extends CellRun {
  /** IDs of hints from trtexec. */
  readonly hints: readonly string[];
}

/** The timed runs of each cell in its newest sweep with any; omits cells without runs. */
export function newestRunsOf(db: StoreDatabase, cellKeys: readonly CellKey[]): Map<CellKey, NewestRun[]> {
  const newest = new Map(
    db.$client
      .prepare<[string], { cellKey: CellKey; sweepId: SweepId }>(
        `SELECT e.value AS cellKey, last.sweep_id AS sweepId FROM json_each(?) e JOIN runs last ON last.run_id = (
           SELECT r.run_id FROM runs r INDEXED BY runs_by_cell WHERE r.cell_key = e.value AND r.role = 'timed'
           ORDER BY r.started_at DESC LIMIT 1)`,
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
