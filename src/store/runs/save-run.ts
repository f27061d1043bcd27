import { eq, getTableColumns, getTableName, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';

import type { EngineLayer } from '../../layers/layer-info.ts';
import { CELL_KEY_VERSION, hashOf, type KeyedCell } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { TIMED_METRICS, type TimeStatistics } from '../../records/measurement.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { RunRecord } from '../../records/run.ts';
import { commandLineSection } from '../builds/loaded-engines.ts';
import type { StoreDatabase } from '../file/open.ts';
import { encodeLayers, encodeSamples } from './blob-codecs.ts';
import { recordTry } from './runs.ts';
import * as schema from '../schema.ts';
import { remarkNumbers } from '../../trtexec/log/hints.ts';

export type Saved = 'stored' | 'already stored';

/** Percentiles with a column of their own. */
const COLUMN_PERCENTILES = ['90', '95', '99'];

/** Writes runs: prepared statements, one transaction a run. A run that is there already is left as it is. */
export class RunWriter {
  private readonly db: StoreDatabase;
  private readonly statements: ReturnType<typeof prepareStatements>;
  /** Rows that this process knows to be there; saves most of the writes of a long sweep. */
  private readonly known = new Set<string>();

  constructor(db: StoreDatabase) {
    this.db = db;
    this.statements = prepareStatements(db);
  }

  hasRun(runId: string): boolean {
    return this.statements.findRun.get({ runId }) !== undefined;
  }

  /** @throws when the sweep of the run is not stored yet */
  saveRun(record: RunRecord): Saved {
    return this.db.transaction(
      () => {
        if (this.hasRun(record.runId)) return 'already stored';
        this.insertRun(record);
        this.insertMeasurement(record);
        this.insertReading(record);
        this.insertLists(record);
        return 'stored';
      },
      { behavior: 'immediate' },
    );
  }

  saveCell(cell: KeyedCell): void {
    if (this.known.has(cell.key)) return;
    const { key: cellKey, harness = null, ...identity } = cell;
    this.statements.cell.run({ ...identity, cellKey, keyVersion: CELL_KEY_VERSION, harness });
    this.known.add(cell.key);
  }

  private insertRun(record: RunRecord): void {
    if (record.cell !== null) this.saveCell(record.cell);
    const environmentId = this.saveEnvironment(record.environment);
    const invocationId = this.saveInvocation(record);
    if (record.build !== null && record.buildId !== null) this.saveBuild(record, record.buildId);
    const { outcome, process } = record;
    this.statements.run.run({
      runId: record.runId,
      sweepId: record.sweepId,
      role: record.role,
      cellKey: record.cell?.key ?? null,
      repeat: record.repeat,
      buildId: record.buildId,
      engineKey: record.engineKey,
      engineSha256: record.engineSha256,
      provenance: record.provenance,
      environmentId,
      outcome: outcome.kind,
      reason: outcomeReason(outcome),
      startedAt: record.startedAt,
      wallS: record.wallS,
      exitCode: process.exitCode,
      signal: process.signal,
      timedOut: process.timedOut,
      cancelled: process.cancelled,
      invocationId,
      notes: record.notes,
      artefactFolder: record.artefactFolder,
    });
  }

  private saveEnvironment(environment: Environment): string {
    const environmentId = hashOf(environment);
    if (!this.known.has(environmentId)) {
      this.statements.environment.run({ environmentId, ...environment });
      this.known.add(environmentId);
    }
    return environmentId;
  }

  private saveInvocation({ argv, env, log }: RunRecord): string {
    const banner = { ...log.banner, ...(argv === null ? commandLineSection(log.commandLine) : {}) };
    const invocationId = hashOf({
      argv: argv === null ? null : JSON.stringify(argv),
      env: JSON.stringify(env),
      banner: JSON.stringify(banner),
    });
    if (!this.known.has(invocationId)) {
      this.statements.invocation.run({ invocationId, argv, env, banner });
      this.known.add(invocationId);
    }
    return invocationId;
  }

  private saveBuild(record: RunRecord, buildId: string): void {
    this.statements.build.run({
      buildId,
      engineKey: record.engineKey,
      model: record.build?.model ?? '',
      modelSha256: record.build?.modelSha256 ?? null,
      flags: record.build?.flags ?? [],
      engineSha256: record.engineSha256,
      engineBytes: record.exports.engineBytes,
      engineMib: record.log.build.createdEngineMib,
      buildS: record.log.build.engineBuiltS,
    });
  }

  private insertMeasurement({ runId, log, derived, exports }: RunRecord): void {
    const { measurement } = log;
    if (measurement !== null) {
      this.statements.measurement.run({
        runId,
        throughputQps: measurement.throughputQps,
        hostWalltimeS: measurement.hostWalltimeS,
        gpuTotalS: measurement.gpuTotalS,
        queries: derived.queries,
        warmUpQueries: log.warmUpQueries,
        cvPercent: derived.cvPercent,
        enqueueRatio: derived.enqueueRatio,
        gpuBusy: derived.gpuBusy,
        gpuComputeCentreMs: derived.gpuComputeCentreMs,
        latencyCentreMs: derived.latencyCentreMs,
        contextMemoryMib: log.build.contextMemoryMib,
      });
      for (const metric of TIMED_METRICS) {
        const statistics = measurement[metric];
        if (statistics !== null) this.insertStatistics(runId, metric, statistics);
      }
    }
    if (exports.times !== null && exports.times.count > 0) {
      this.statements.samples.run({ runId, count: exports.times.count, data: encodeSamples(exports.times) });
    }
  }

  private insertReading({ runId, harness }: RunRecord): void {
    if (harness === null) return;
    this.statements.method.run({ runId, ...harness.method });
    if (harness.latencyMs !== null) this.insertStatistics(runId, 'latency', harness.latencyMs);
    harness.values.forEach(({ metric, value }, position) => {
      this.statements.value.run({ runId, metric, position, value });
    });
  }

  private insertStatistics(runId: string, metric: string, statistics: TimeStatistics): void {
    const others = Object.entries(statistics.percentiles).filter(([percent]) => !COLUMN_PERCENTILES.includes(percent));
    this.statements.timeStatistics.run({
      runId,
      metric: metric.replace(/Ms$/, ''),
      minMs: statistics.min,
      maxMs: statistics.max,
      meanMs: statistics.mean,
      medianMs: statistics.median,
      p90Ms: statistics.percentiles['90'] ?? null,
      p95Ms: statistics.percentiles['95'] ?? null,
      p99Ms: statistics.percentiles['99'] ?? null,
      otherPercentiles: others.length === 0 ? null : Object.fromEntries(others),
    });
  }

  private insertLists(record: RunRecord): void {
    const { runId, log, outcome, artefacts } = record;
    const hints = new Map(log.hints.map((hint) => [hint.id, hint.value]));
    for (const [hint, value] of hints) this.statements.hint.run({ runId, hint, value });
    for (const [hint, value] of Object.entries(remarkNumbers(log.build))) {
      if (value !== null) this.statements.hint.run({ runId, hint, value });
    }
    outcome.evidence.forEach(({ stream, line, text }, position) => {
      this.statements.evidence.run({ runId, position, stream, line, text });
    });
    for (const { name, sha256, bytes } of artefacts) {
      this.statements.artefact.run({ runId, name, sha256, bytes });
    }
    for (const flag of record.flags) {
      const { id, effect, value, evidence } = flag;
      this.statements.flag.run({ runId, flag: id, effect, value, evidence });
    }
    for (const ended of record.tries) recordTry(this.db, record.sweepId, runId, ended);
    this.insertTelemetry(record);
    this.insertLayers(record);
  }

  private insertTelemetry({ runId, telemetry }: RunRecord): void {
    if (telemetry === null) return;
    this.statements.telemetry.run({ ...telemetry, runId });
  }

  private insertLayers({ runId, log, exports }: RunRecord): void {
    const profile = exports.profile ?? log.profile;
    const layers: readonly EngineLayer[] = (exports.layerInfo ?? log.layerInfo)?.layers ?? [];
    if (profile === null && layers.length === 0) return;
    this.statements.layerProfile.run({
      runId,
      iterations: profile?.iterations ?? null,
      layerCount: profile?.layers.length ?? layers.length,
      data: encodeLayers({ profile: profile?.layers ?? null, layers }),
    });
  }
}

/** The statements that are run for each run, prepared once. */
function prepareStatements(db: StoreDatabase) {
  return {
    findRun: db
      .select({ runId: schema.runs.runId })
      .from(schema.runs)
      .where(eq(schema.runs.runId, sql.placeholder('runId')))
      .prepare(),
    cell: new PreparedInsert(db, schema.cells, 'or ignore'),
    environment: new PreparedInsert(db, schema.environments, 'or ignore'),
    invocation: new PreparedInsert(db, schema.invocations, 'or ignore'),
    build: new PreparedInsert(db, schema.builds, 'or ignore'),
    run: new PreparedInsert(db, schema.runs),
    measurement: new PreparedInsert(db, schema.measurements),
    timeStatistics: new PreparedInsert(db, schema.timeStatistics),
    method: new PreparedInsert(db, schema.runMethods),
    value: new PreparedInsert(db, schema.runValues),
    samples: new PreparedInsert(db, schema.samples),
    telemetry: new PreparedInsert(db, schema.runTelemetry),
    flag: new PreparedInsert(db, schema.runFlags),
    layerProfile: new PreparedInsert(db, schema.layerProfiles),
    hint: new PreparedInsert(db, schema.runHints),
    evidence: new PreparedInsert(db, schema.runEvidence),
    artefact: new PreparedInsert(db, schema.artefacts),
  };
}

/**
 * An insert of a whole row of a drizzle table. drizzle's own prepared insert takes any object and rebuilds its
 * parameters for each call; this one is typed by the table and costs little more than the statement itself.
 */
class PreparedInsert<Table extends SQLiteTable> {
  private readonly statement: { run(...values: unknown[]): unknown };
  private readonly columns: readonly [string, Pick<SQLiteColumn, 'notNull' | 'mapToDriverValue'>][];

  constructor(db: StoreDatabase, table: Table, conflict: '' | 'or ignore' = '') {
    const columns = Object.entries(getTableColumns(table));
    const names = columns.map(([, column]) => `"${column.name}"`).join(', ');
    const marks = columns.map(() => '?').join(', ');
    this.columns = columns;
    this.statement = db.$client.prepare(
      `insert ${conflict} into "${getTableName(table)}" (${names}) values (${marks})`,
    );
  }

  run(row: Required<Table['$inferInsert']>): void {
    this.statement.run(
      ...this.columns.map(([name, column]) => {
        const value: unknown = Reflect.get(row, name);
        return value === undefined || (value === null && !column.notNull) ? null : column.mapToDriverValue(value);
      }),
    );
  }
}
