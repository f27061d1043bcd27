import { eq, getTableColumns, getTableName, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';

import type { StoreDatabase } from './open.ts';
import * as schema from '../schema.ts';

/** The statements that are run for each run, prepared once. */
export function prepareStatements(db: StoreDatabase) {
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
