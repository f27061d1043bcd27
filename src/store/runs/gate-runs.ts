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
    const wanted = metrics.flatMap((metric): [Float64Array, string][] => {
      if (!isOwnMetric(metric)) return [];
      const { stored, centre } = metricDefinition(metric);
      return [
        ...(stored.table === 'measurements'
          ? [[this.column(this.printed, metric), COLUMNS[stored.column]] as const]
          : []),
        ...(centre === undefined ? [] : [[this.column(this.centres, metric), COLUMNS[centre]] as const]),
      ].map(([column, name]) => [column, name]);
    });
    this.readRowsOf('measurements', wanted, '');
  }

  private readStatistics(metrics: readonly MetricId[]): void {
    const byLine = Map.groupBy(
      metrics.flatMap((metric) => {
        const stored = isOwnMetric(metric) ? metricDefinition(metric).stored : null;
        return stored?.table === 'timeStatistics' ? [{ metric, stored }] : [];
      }),
      ({ stored }) => stored.of,
    );
    for (const [line, own] of byLine) {
      const wanted = own.map(({ metric, stored }): [Float64Array, string] => [
        this.column(this.printed, metric),
        COLUMNS[stored.column],
      ]);
      this.readRowsOf('time_statistics', wanted, `AND v.metric = '${line}'`);
    }
  }

  /** By the keys of the runs in order, or all rows of the table in theirs where most of them are wanted: that is faster. */
  private readRowsOf(
    table: 'measurements' | 'time_statistics',
    wanted: readonly [Float64Array, string][],
    which: string,
  ) {
    if (wanted.length === 0) return;
    const names = wanted.map(([, name]) => `v.${name}`).join(', ');
    const all = Number(this.client.prepare('SELECT max(rowid) FROM measurements').pluck().get());
    const isMost = this.rows.size > SCANNED_SHARE * all;
    const rows = isMost
      ? this.client
          .prepare<[], [RunId, ...(number | null)[]]>(`SELECT v.run_id, ${names} FROM ${table} v WHERE 1 ${which}`)
          .raw()
          .iterate()
      : this.client
          .prepare<[string], [RunId, ...(number | null)[]]>(
            `SELECT v.run_id, ${names} FROM json_each(?) e CROSS JOIN ${table} v ON v.run_id = e.value ${which}`,
          )
          .raw()
          .iterate(JSON.stringify([...this.rows.keys()].toSorted()));
    for (const [runId, ...values] of rows) {
      const row = this.rows.get(runId);
      if (row === undefined) continue;
      for (const [index, [column]] of wanted.entries()) column[row] = values[index] ?? Number.NaN;
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

const NO_FLAGS: GateRun['flags'] = [];
/** Share of a table from which on reading all of it is faster. */
const SCANNED_SHARE = 0.2;
