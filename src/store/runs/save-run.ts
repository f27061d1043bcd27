import { eq, getTableColumns, getTableName, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';

import { CELL_KEY_VERSION, itemsPerS, type KeyedCell } from '../../records/cell.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { TIMED_METRICS, type TimeStatistics } from '../../records/harness.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { RunRecord } from '../../records/run.ts';
import { commandLineSection } from '../builds/builds.ts';
import { immediately, type StoreDatabase } from '../file/open.ts';
import { encodeLayers, encodeSamples } from './blob-codecs.ts';
import { recordTry } from './runs.ts';
import * as tables from '../schema.ts';
import { remarkNumbers } from '../../trtexec/log/hints.ts';
import type { RunId } from '../../records/scalars.ts';

/** Tables whose rows are named by their content, so that a row may already exist. */
const SHARED: ReadonlySet<SQLiteTable> = new Set([
  tables.builds,
  tables.cells,
  tables.environments,
  tables.invocations,
]);

/** Writes runs with prepared statements, one transaction per run. It does not change existing runs. */
export class RunWriter {
  private readonly db: StoreDatabase;
  private readonly inserts = new Map<SQLiteTable, (row: object) => void>();
  private readonly findRun;

  constructor(db: StoreDatabase) {
    this.db = db;
    const isIt = eq(tables.runs.runId, sql.placeholder('runId'));
    this.findRun = db.select({ runId: tables.runs.runId }).from(tables.runs).where(isIt).prepare();
  }

  hasRun(runId: RunId): boolean {
    return this.findRun.get({ runId }) !== undefined;
  }

  /** @throws if the sweep of the run is not stored yet */
  saveRun(record: RunRecord): void {
    this.saveRuns([record]);
  }

  /** Writes runs in one transaction, because a commit takes longer than inserting a small run. */
  saveRuns(records: readonly RunRecord[]): void {
    if (records.length > 0) immediately(this.db, () => records.forEach((record) => this.save(record)));
  }

  private save(record: RunRecord): void {
    if (this.hasRun(record.runId)) return;
    this.insertRun(record);
    this.insertMeasurement(record);
    this.insertReading(record);
    this.insertLists(record);
    this.insertLayers(record);
  }

  saveCell(cell: KeyedCell): void {
    const { key: cellKey, harness = null, ...identity } = cell;
    this.insert(tables.cells, { ...identity, cellKey, keyVersion: CELL_KEY_VERSION, harness });
  }

  private insert<Table extends SQLiteTable>(table: Table, row: Required<Table['$inferInsert']>): void {
    const insert = this.inserts.get(table) ?? preparedInsert(this.db, table);
    this.inserts.set(table, insert);
    insert(row);
  }

  private insertRun(record: RunRecord): void {
    const { argv, build, buildId, cell, env, environment, exports, log, outcome, process } = record;
    if (cell !== null) this.saveCell(cell);
    // Environments of older versions, without a binding and a harness, keep their ids.
    const [binding, harness] = [environment.binding ?? undefined, environment.harness ?? undefined];
    const environmentId = hashOf({ ...environment, binding, harness });
    this.insert(tables.environments, { environmentId, ...environment });
    const banner = { ...log.banner, ...(argv === null ? commandLineSection(log.commandLine) : {}) };
    const invocationId = hashOf({
      argv: argv === null ? null : JSON.stringify(argv),
      env: JSON.stringify(env),
      banner: JSON.stringify(banner),
    });
    this.insert(tables.invocations, { invocationId, argv, env, banner });
    if (build !== null && buildId !== null) {
      this.insert(tables.builds, {
        ...record,
        ...build,
        buildId,
        engineBytes: exports.engineBytes,
        engineMib: log.build.createdEngineMib,
        buildS: log.build.engineBuiltS,
        peakMemoryMib: log.build.peakMemoryMib,
      });
    }
    this.insert(tables.runs, {
      ...record,
      ...process,
      cellKey: cell?.key ?? null,
      environmentId,
      invocationId,
      outcome: outcome.kind,
      reason: outcomeReason(outcome),
    });
  }

  private insertMeasurement({ cell, runId, log, derived, exports }: RunRecord): void {
    const { build, measurement, warmUpQueries } = log;
    if (measurement !== null) {
      const { contextMemoryMib } = build;
      // An import may state shapes that the log lacks.
      const items = derived.itemsPerS ?? itemsPerS(cell?.shapes ?? {}, measurement.throughputQps);
      const own = { runId, warmUpQueries, contextMemoryMib, itemsPerS: items };
      this.insert(tables.measurements, { ...measurement, ...derived, ...own });
      for (const metric of TIMED_METRICS) {
        const statistics = measurement[metric];
        if (statistics !== null) this.insertStatistics(runId, metric, statistics);
      }
    }
    if (exports.times !== null && exports.times.count > 0) {
      this.insert(tables.samples, { runId, count: exports.times.count, data: encodeSamples(exports.times) });
    }
  }

  private insertReading({ runId, harness }: RunRecord): void {
    if (harness === null) return;
    this.insert(tables.runMethods, { runId, ...harness.method });
    if (harness.latencyMs !== null) this.insertStatistics(runId, 'latency', harness.latencyMs);
    harness.values.forEach((value, position) => this.insert(tables.runValues, { runId, position, ...value }));
  }

  private insertStatistics(
    runId: RunId,
    metric: string,
    { max: maxMs, mean: meanMs, median: medianMs, min: minMs, percentiles }: TimeStatistics,
  ): void {
    const line = metric.replace(/Ms$/, '');
    this.insert(tables.timeStatistics, { runId, metric: line, minMs, maxMs, meanMs, medianMs, percentiles });
  }

  private insertLists({ runId, sweepId, artefacts, flags, log, outcome, telemetry, tries }: RunRecord): void {
    const hints = new Map<string, number | null>(log.hints.map((hint) => [hint.id, hint.value]));
    for (const [hint, value] of hints) this.insert(tables.runHints, { runId, hint, value });
    for (const [hint, value] of Object.entries(remarkNumbers(log.build))) {
      if (value !== null) this.insert(tables.runHints, { runId, hint, value });
    }
    outcome.evidence.forEach((line, position) => this.insert(tables.runEvidence, { runId, position, ...line }));
    for (const artefact of artefacts) this.insert(tables.artefacts, { runId, ...artefact });
    for (const { id: flag, ...rest } of flags) this.insert(tables.runFlags, { runId, flag, ...rest });
    for (const ended of tries) recordTry(this.db, sweepId, runId, ended);
    if (telemetry !== null) this.insert(tables.runTelemetry, { runId, ...telemetry });
  }

  private insertLayers({ runId, log, exports }: RunRecord): void {
    const profile = exports.profile ?? log.profile;
    const layers = exports.layerInfo ?? log.layerInfo ?? [];
    if (profile === null && layers.length === 0) return;
    const data = encodeLayers({ profile: profile?.layers ?? null, layers, total: profile?.total });
    const layerCount = profile?.layers.length ?? layers.length;
    this.insert(tables.layerProfiles, { runId, iterations: profile?.iterations ?? null, layerCount, data });
  }
}

/**
 * A prepared insert of whole rows, which costs little more than the statement itself. drizzle builds its insert again
 * for each row.
 */
function preparedInsert({ $client }: StoreDatabase, table: SQLiteTable): (row: object) => void {
  const columns = Object.entries(getTableColumns(table));
  const names = columns.map(([, column]) => `"${column.name}"`).join(', ');
  const marks = columns.map(() => '?').join(', ');
  const into = `insert ${SHARED.has(table) ? 'or ignore' : ''} into "${getTableName(table)}"`;
  const statement = $client.prepare(`${into} (${names}) values (${marks})`);
  return (row) => {
    const values = columns.map(([name, column]) => {
      const value: unknown = Reflect.get(row, name);
      return value === undefined || (value === null && !column.notNull) ? null : column.mapToDriverValue(value);
    });
    statement.run(...values);
  };
}
