import Database from 'better-sqlite3';

import { hashOf } from '../../src/text/canonical-json.ts';
import { openToRead } from '../../src/store/file/open-to-read.ts';

/** What a store says of its runs, without ids, times of day and attempt records: the same for the same results. */
export function dumpStore(path: string): object {
  const db = new Database(path, { readonly: true });
  try {
    const query = (sql: string): unknown[] => db.prepare(sql).all();
    return {
      cells: query('SELECT * FROM cells ORDER BY cell_key'),
      runs: query(`
        SELECT role, cell_key, repeat, provenance, outcome, reason, exit_code, signal, timed_out, notes
        FROM runs ORDER BY role, cell_key, repeat, outcome`),
      measurements: query(`
        SELECT runs.role, runs.cell_key, runs.repeat, measurements.*, samples.count, hex(samples.data) AS data
        FROM runs JOIN measurements USING (run_id) LEFT JOIN samples USING (run_id)
        ORDER BY runs.role, runs.cell_key, runs.repeat`).map(withoutRunId),
      statistics: query(`
        SELECT runs.role, runs.cell_key, runs.repeat, time_statistics.* FROM runs JOIN time_statistics USING (run_id)
        ORDER BY runs.role, runs.cell_key, runs.repeat, metric`).map(withoutRunId),
      artefacts: query(`
        SELECT runs.role, runs.cell_key, runs.repeat, artefacts.name, artefacts.sha256, artefacts.bytes
        FROM runs JOIN artefacts USING (run_id) ORDER BY runs.role, runs.cell_key, runs.repeat, artefacts.sha256`),
    };
  } finally {
    db.close();
  }
}

/** The same without hashes of logs: command lines with folders stand in them. */
export const resultsOf = (path: string): object => ({ ...dumpStore(path), artefacts: null });

const withoutRunId = (row: unknown): unknown =>
  typeof row === 'object' && row !== null ? { ...row, run_id: null } : row;

export function change(db: string, sql: string): void {
  const client = new Database(db);
  client.pragma('foreign_keys = ON');
  client.exec(sql);
  client.close();
}

export function queryStore<Row = unknown>(path: string, sql: string): Row[] {
  try {
    return rowsAndClose(new Database(path, { readonly: true }), sql);
  } catch (error) {
    // A process that was killed while it made the store leaves a journal, which has to be rolled back.
    if (!(error instanceof Database.SqliteError) || error.code !== 'SQLITE_READONLY_ROLLBACK') {
      throw error;
    }
    return rowsAndClose(openToRead(path), sql);
  }
}

/** The first id that a query with a column `id` finds; '' where there is none. */
export const firstId = (path: string, sql: string): string => queryStore<{ id: string }>(path, sql)[0]?.id ?? '';

function rowsAndClose<Row>(db: Database.Database, sql: string): Row[] {
  try {
    return db.prepare<[], Row>(sql).all();
  } finally {
    db.close();
  }
}

/** Every row of every table of a store, as text and sorted, by table; `except` names columns that are left out. */
export function dumpTables(
  path: string,
  except: Readonly<Record<string, readonly string[]>> = {},
): Record<string, string[]> {
  const names = queryStore<{ name: string }>(
    path,
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_\\_%' ESCAPE '\\' ORDER BY name`,
  );
  return Object.fromEntries(
    names.map(({ name }) => {
      const rows = queryStore<Record<string, unknown>>(path, `SELECT * FROM "${name}"`);
      const left = new Set(except[name]);
      const kept = rows.map((row) =>
        Object.entries(row)
          .filter(([column]) => !left.has(column))
          .map(([column, value]) => `${column}=${shortened(JSON.stringify(value))}`)
          .join(' '),
      );
      return [name, kept.toSorted()];
    }),
  );
}

const shortened = (text: string): string => (text.length <= 200 ? text : hashOf(text));
