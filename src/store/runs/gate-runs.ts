import type { MetricValue, NightRun } from '../../judge/value-rule.ts';
import { isOwnMetric, metricDefinition, type MetricId } from '../../records/metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds } from '../schema.ts';
import { metricValues } from './metric-runs.ts';
import { sweepValuesOf } from './known-sweep-values.ts';
import { readSweepValues, runRowsOf } from './read-sweep-values.ts';
import { keepValues, keptValues, PLACES, RUN_COLUMNS, type SweepValues } from './sweep-values.ts';

/** A measured timed run, without its values. */
export interface GateRun extends Omit<NightRun, 'value'> {
  /** Place of its values. */
  readonly row: number;
}

/**
 * Measured timed runs of some cells in some sweeps with several metrics: the gate of two thousand cells needs half a million
 * runs. What was read of a sweep before is kept in the store.
 */
export class GateRuns {
  readonly byCell = new Map<CellKey, GateRun[]>();
  private readonly db: StoreDatabase;
  private readonly sweepIds: readonly SweepId[];
  private readonly cellKeys: ReadonlySet<CellKey>;
  private size = 0;
  private readonly printed = new Map<MetricId, Float64Array>();
  private readonly centres = new Map<MetricId, Float64Array>();

  /** @param sweepIds oldest first; @param keeps what is read now is kept for the next time */
  constructor(
    db: StoreDatabase,
    sweepIds: readonly SweepId[],
    cellKeys: ReadonlySet<CellKey>,
    metrics: readonly MetricId[],
    keeps: boolean,
  ) {
    this.db = db;
    this.sweepIds = sweepIds;
    this.cellKeys = cellKeys;
    db.$client.transaction(() => {
      this.take(keeps ? this.keptOrRead() : sweepValuesOf(db, sweepIds), new Set(metrics));
      for (const metric of metrics) if (!this.printed.has(metric)) this.readOther(metric);
    })();
  }

  private keptOrRead(): ReadonlyMap<SweepId, SweepValues> {
    const kept = keptValues(this.db, this.sweepIds);
    const others = this.sweepIds.filter((id) => !kept.has(id));
    const missing = readSweepValues(this.db, others);
    keepValues(this.db, missing);
    return new Map([...kept, ...missing]);
  }

  /** The values of some runs, all of one kind as in `kindOfValues`; NaN where a run has none. */
  valuesOf(runs: readonly GateRun[], metric: MetricId): (run: GateRun) => number {
    const [printed, centres] = [this.printed.get(metric), this.centres.get(metric)];
    const isCentre = runs.every(({ row }) => (centres?.[row] ?? 0) > 0 || !((printed?.[row] ?? 0) > 0));
    const column = isCentre ? centres : printed;
    return ({ row }) => column?.[row] ?? Number.NaN;
  }

  /** The runs of a cell with both values of a metric. */
  valued(cellKey: CellKey, metric: MetricId): (GateRun & MetricValue)[] {
    const [printed, centres] = [this.printed.get(metric), this.centres.get(metric)];
    const own = this.byCell.get(cellKey) ?? [];
    return own.map((run) => ({ ...run, printed: valueIn(printed, run.row), centre: valueIn(centres, run.row) }));
  }

  private take(bySweep: ReadonlyMap<SweepId, SweepValues>, metrics: ReadonlySet<MetricId>): void {
    this.size = this.sweepIds.reduce((sum, id) => sum + (bySweep.get(id)?.places.length ?? 0) / PLACES, 0);
    const columns = RUN_COLUMNS.flatMap(({ isCentre, metric }, index) =>
      metrics.has(metric) ? [{ index, to: this.column(isCentre ? this.centres : this.printed, metric) }] : [],
    );
    let row = 0;
    for (const sweepId of this.sweepIds) {
      const values = bySweep.get(sweepId);
      if (values === undefined) continue;
      const { bounds, builds: buildIds, cells, environments, flags, numbers, places } = values;
      const count = places.length / PLACES;
      columns.forEach(({ index, to }) => to.set(numbers.subarray((1 + index) * count, (2 + index) * count), row));
      const runs = cells.map((key) => (this.cellKeys.has(key) ? this.runsOf(key) : null));
      for (let run = 0, at = 0; run < count; run += 1, at += PLACES) {
        const cell = places[at] ?? -1;
        const clock = numbers[run] ?? Number.NaN;
        runs[cell]?.push({
          row: row + run,
          cellKey: cells[cell] ?? '',
          sweepId,
          buildId: buildIds[places[at + 1] ?? -1] ?? null,
          environmentId: environments[places[at + 2] ?? -1] ?? '',
          smClockMhz: Number.isNaN(clock) ? null : clock,
          flags: flags[places[at + 3] ?? -1] ?? [],
          boundBy: bounds[places[at + 4] ?? -1] ?? null,
        });
      }
      row += count;
    }
  }

  private runsOf(key: CellKey): GateRun[] {
    const runs = this.byCell.get(key) ?? [];
    this.byCell.set(key, runs);
    return runs;
  }

  /** One statement for itself: of another harness, or rare. */
  private readOther(metric: MetricId): void {
    const column = this.column(this.printed, metric);
    const stored = isOwnMetric(metric) ? metricDefinition(metric).stored : null;
    if (stored?.table === 'builds') {
      const { name } = builds[stored.column];
      const statement = this.db.$client
        .prepare<[], [string, number | null]>(`SELECT build_id, ${name} FROM builds`)
        .raw();
      const known = new Map(statement.all());
      for (const runs of this.byCell.values()) {
        for (const { buildId, row } of runs) column[row] = known.get(buildId ?? '') ?? Number.NaN;
      }
      return;
    }
    const values = metricValues(this.db, this.sweepIds, [...this.cellKeys], metric);
    const rowsOf = runRowsOf(this.db);
    let row = 0;
    for (const [runId] of this.sweepIds.flatMap(rowsOf)) {
      column[row] = values.get(runId) ?? Number.NaN;
      row += 1;
    }
  }

  private column(columns: Map<MetricId, Float64Array>, metric: MetricId): Float64Array {
    const column = new Float64Array(this.size).fill(Number.NaN);
    columns.set(metric, column);
    return column;
  }
}

function valueIn(column: Float64Array | undefined, row: number): number | null {
  const value = column?.[row] ?? Number.NaN;
  return Number.isNaN(value) ? null : value;
}
