import type { NightRun } from '../../judge/value-rule.ts';
import { isOwnMetric, metricDefinition, type MetricId } from '../../records/metric.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { CellKey, RunId, SweepId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../file/open.ts';
import { metricRuns } from './metric-runs.ts';

/** A measured timed run, without its values. */
export interface GateRun extends Omit<NightRun, 'value'> {
  /** Place of its values. */
  readonly row: number;
}

const COLUMNS = {
  throughputQps: 'throughput_qps',
  contextMemoryMib: 'context_memory_mib',
  gpuComputeCentreMs: 'gpu_compute_centre_ms',
  latencyCentreMs: 'latency_centre_ms',
  medianMs: 'median_ms',
  p99Ms: 'p99_ms',
  buildS: 'build_s',
  engineMib: 'engine_mib',
} as const;

/**
 * Measured timed runs of some cells in some sweeps with several metrics, in one pass: the gate of two thousand cells
 * reads half a million runs, for which one statement a metric is too slow.
 */
export class GateRuns {
  readonly byCell: ReadonlyMap<CellKey, readonly GateRun[]>;
  private readonly client: StoreDatabase['$client'];
  private readonly rows = new Map<RunId, number>();
  private readonly printed = new Map<MetricId, Float64Array>();
  private readonly centres = new Map<MetricId, Float64Array>();

  /** @param sweepIds oldest first */
  constructor(
    db: StoreDatabase,
    sweepIds: readonly SweepId[],
    cellKeys: ReadonlySet<CellKey>,
    metrics: readonly MetricId[],
  ) {
    this.client = db.$client;
    const runs = this.readRuns(sweepIds, cellKeys);
    this.byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
    this.readMeasurements(metrics);
    this.readStatistics(metrics);
    this.readBuilds(runs, metrics);
    for (const metric of metrics) if (!this.printed.has(metric)) this.readOther(db, metric, sweepIds, [...cellKeys]);
  }

  /** The values of some runs, all of one kind as in `kindOfValues`; NaN where a run has none. */
  valuesOf(runs: readonly GateRun[], metric: MetricId): (run: GateRun) => number {
    const [printed, centres] = [this.printed.get(metric), this.centres.get(metric)];
    const isCentre = runs.every(({ row }) => (centres?.[row] ?? 0) > 0 || !((printed?.[row] ?? 0) > 0));
    const column = isCentre ? centres : printed;
    return ({ row }) => column?.[row] ?? Number.NaN;
  }

  private readRuns(sweepIds: readonly SweepId[], cellKeys: ReadonlySet<CellKey>): GateRun[] {
    const statement = this.client
      .prepare<[string], [RunId, CellKey | null, string | null, string, number | null]>(
        `SELECT r.run_id, r.cell_key, r.build_id, r.environment_id, t.sm_clock_mhz
         FROM runs r LEFT JOIN run_telemetry t ON t.run_id = r.run_id
         WHERE r.sweep_id = ? AND r.role = 'timed' AND r.outcome = 'measured'`,
      )
      .raw();
    const flags = this.readFlags(sweepIds);
    const runs: GateRun[] = [];
    for (const sweepId of sweepIds) {
      for (const [runId, cellKey, buildId, environmentId, smClockMhz] of statement.all(sweepId)) {
        if (cellKey === null || !cellKeys.has(cellKey)) continue;
        const row = runs.length;
        this.rows.set(runId, row);
        runs.push({ row, cellKey, sweepId, buildId, environmentId, smClockMhz, flags: flags.get(runId) ?? NO_FLAGS });
      }
    }
    return runs;
  }

  private readFlags(sweepIds: readonly SweepId[]): Map<RunId, GateRun['flags']> {
    const statement = this.client
      .prepare<[string], [RunId, RunFlag['id'], RunFlag['effect']]>(
        `SELECT r.run_id, f.flag, f.effect FROM runs r CROSS JOIN run_flags f ON f.run_id = r.run_id
         WHERE r.sweep_id = ? AND r.role = 'timed'
           AND (f.effect <> 'explained' OR f.flag IN ('powerLimited', 'hostBound'))`,
      )
      .raw();
    const rows = sweepIds.flatMap((sweepId) => statement.all(sweepId));
    const byRun = Map.groupBy(rows, ([runId]) => runId);
    return new Map([...byRun].map(([runId, own]) => [runId, own.map(([, id, effect]) => ({ id, effect }))]));
  }

  private readMeasurements(metrics: readonly MetricId[]): void {
    const targets = metrics.flatMap((metric): Target[] => {
      if (!isOwnMetric(metric)) return [];
      const { stored, centre } = metricDefinition(metric);
      return [
        ...(stored.table === 'measurements' ? [this.target('', stored.column, this.printed, metric)] : []),
        ...(centre === undefined ? [] : [this.target('', centre, this.centres, metric)]),
      ];
    });
    this.readRowsOf('measurements', "'', ", targets);
  }

  private readStatistics(metrics: readonly MetricId[]): void {
    const targets = metrics.flatMap((metric): Target[] => {
      const stored = isOwnMetric(metric) ? metricDefinition(metric).stored : null;
      return stored?.table === 'timeStatistics' ? [this.target(stored.of, stored.column, this.printed, metric)] : [];
    });
    this.readRowsOf('time_statistics', 'v.metric, ', targets);
  }

  private target(
    line: string,
    column: keyof typeof COLUMNS,
    columns: Map<MetricId, Float64Array>,
    metric: MetricId,
  ): Target {
    return { line, name: COLUMNS[column], column: this.column(columns, metric) };
  }

  /** By the keys of the runs in order, or all rows of the table in theirs where most of them are wanted: that is faster. */
  private readRowsOf(table: 'measurements' | 'time_statistics', line: string, targets: readonly Target[]): void {
    if (targets.length === 0) return;
    const names = [...new Set(targets.map(({ name }) => name))];
    const select = `SELECT v.run_id, ${line}${names.map((name) => `v.${name}`).join(', ')} FROM`;
    const lines = Map.groupBy(targets, (target) => target.line);
    const which = line === "'', " ? '' : `AND v.metric IN (${[...lines.keys()].map((name) => `'${name}'`).join(', ')})`;
    const take = (rows: readonly ValueRow[]): void => {
      for (const [runId, ofLine, ...values] of rows) {
        const row = this.rows.get(runId);
        if (row === undefined) continue;
        for (const { column, name } of lines.get(ofLine) ?? []) column[row] = values[names.indexOf(name)] ?? Number.NaN;
      }
    };
    const measured = Number(this.client.prepare('SELECT max(rowid) FROM measurements').pluck().get());
    if (this.rows.size > SCANNED_SHARE * measured) {
      const key = table === 'measurements' ? 'rowid' : 'run_id';
      const chunk = this.client.prepare<[number | string, number | string], ValueRow>(
        `${select} ${table} v WHERE v.${key} >= ? AND v.${key} < ? ${which}`,
      );
      chunk.raw();
      // In the order in which each table is kept.
      if (key === 'run_id') for (const [from, to] of HEX_RANGES) take(chunk.all(from, to));
      else for (let from = 0; from <= measured; from += ROWS_AT_ONCE) take(chunk.all(from, from + ROWS_AT_ONCE));
      return;
    }
    const byKey = this.client.prepare<[string], ValueRow>(
      `${select} json_each(?) e CROSS JOIN ${table} v ON v.run_id = e.value ${which}`,
    );
    byKey.raw();
    const ids = [...this.rows.keys()].toSorted();
    for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) {
      take(byKey.all(JSON.stringify(ids.slice(from, from + ROWS_AT_ONCE))));
    }
  }

  private readBuilds(runs: readonly GateRun[], metrics: readonly MetricId[]): void {
    for (const metric of metrics) {
      const stored = isOwnMetric(metric) ? metricDefinition(metric).stored : null;
      if (stored?.table !== 'builds') continue;
      const statement = this.client.prepare<[string], number | null>(
        `SELECT ${COLUMNS[stored.column]} FROM builds WHERE build_id = ?`,
      );
      statement.pluck();
      const known = new Map<string, number>();
      const column = this.column(this.printed, metric);
      for (const { buildId, row } of runs) {
        if (buildId === null) continue;
        const value = known.get(buildId) ?? statement.get(buildId) ?? Number.NaN;
        known.set(buildId, value);
        column[row] = value;
      }
    }
  }

  /** One statement for itself: of another harness, or rare. */
  private readOther(
    db: StoreDatabase,
    metric: MetricId,
    sweepIds: readonly SweepId[],
    cellKeys: readonly CellKey[],
  ): void {
    const column = this.column(this.printed, metric);
    for (const { runId, printed } of metricRuns(db, sweepIds, cellKeys, metric)) {
      const row = this.rows.get(runId);
      if (row !== undefined) column[row] = printed ?? Number.NaN;
    }
  }

  private column(columns: Map<MetricId, Float64Array>, metric: MetricId): Float64Array {
    const column = new Float64Array(this.rows.size).fill(Number.NaN);
    columns.set(metric, column);
    return column;
  }
}

/** Where a value of a row belongs. */
interface Target {
  /** Of the performance summary; empty for what is stated once. */
  readonly line: string;
  readonly name: string;
  readonly column: Float64Array;
}

type ValueRow = [runId: RunId, line: string, ...values: (number | null)[]];

const ROWS_AT_ONCE = 20_000;
/** The ids from `00` to `01`, and so on. */
const HEX_RANGES = Array.from({ length: 256 }, (_, byte): [string, string] => [
  hexOf(byte),
  byte === 255 ? 'g' : hexOf(byte + 1),
]);
const NO_FLAGS: GateRun['flags'] = [];
/** Share of a table from which on reading all of it is faster. */
const SCANNED_SHARE = 0.2;

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
