import Database from 'better-sqlite3';

import { isRecord } from '../src/text/unknown-values.ts';

/** One table's part of a run: the statement and the values, with the run's id left open. */
export interface RawRow {
  readonly table: string;
  readonly columns: readonly string[];
  readonly values: readonly unknown[];
}

export interface RawStore {
  readonly db: Database.Database;
  readonly statements: Map<string, Database.Statement>;
  close(): void;
}

/** Tables that hold rows of a run, the one that the others refer to first. */
const RUN_TABLES = [
  'runs',
  'measurements',
  'time_statistics',
  'samples',
  'layer_profiles',
  'run_hints',
  'run_evidence',
  'artefacts',
];
/** Rows that many runs share: laid down before anything is timed. */
const SHARED_TABLES = ['sweeps', 'environments', 'cells', 'builds', 'invocations'];
const RUN_ID = 'run_id';

/** What the store holds of one run, ready to be written again under another id. */
export function rawRows(path: string, runId: string): RawRow[] {
  const db = new Database(path, { readonly: true });
  const rows = RUN_TABLES.flatMap((table) =>
    db
      .prepare(`SELECT * FROM ${table} WHERE ${RUN_ID} = ?`)
      .all(runId)
      .filter(isRecord)
      .map((row) => ({ table, columns: Object.keys(row), values: Object.values(row) })),
  );
  db.close();
  return rows;
}

/** An empty store of the same tables, indices and shared rows as an example, opened as the program opens its own. */
export function openRawStore(path: string, example: string): RawStore {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.exec(`ATTACH '${example}' AS example`);
  const made = db
    .prepare(
      `SELECT sql FROM example.sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
    )
    .pluck()
    .all();
  for (const sql of made) db.exec(String(sql));
  for (const table of SHARED_TABLES) {
    db.exec(`INSERT INTO main.${table} SELECT * FROM example.${table}`);
  }
  db.exec('DETACH example');
  return { db, statements: new Map(), close: () => db.close() };
}

/** One transaction: a row of each table, by prepared statements, nothing computed. */
export function writeRawRun(store: RawStore, rows: readonly RawRow[], runId: string): void {
  const { db } = store;
  statementOf(store, 'BEGIN IMMEDIATE').run();
  for (const { table, columns, values } of rows) {
    const marks = columns.map(() => '?').join(', ');
    const statement = statementOf(store, `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`);
    statement.run(columns.map((column, index) => (column === RUN_ID ? runId : values[index])));
  }
  statementOf(store, 'COMMIT').run();
  if (db.inTransaction) throw new Error('the run was not stored');
}

function statementOf({ db, statements }: RawStore, sql: string): Database.Statement {
  const known = statements.get(sql) ?? db.prepare(sql);
  statements.set(sql, known);
  return known;
}
