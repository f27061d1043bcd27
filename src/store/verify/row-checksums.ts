import { crc32 } from 'node:zlib';

import type Database from 'better-sqlite3';

/**
 * Every row has a checksum of its other columns in `row_checksum`, which only `bench db verify` reads. Triggers of the
 * connection write it, whatever statement writes the row. Rows from another store keep theirs.
 */
export const CHECKSUM_COLUMN = 'row_checksum';

export interface CheckedTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** `rowid`, or the columns of the primary key if there is none. */
  readonly key: readonly string[];
}

interface ColumnRow {
  readonly table: string;
  readonly column: string;
  readonly pk: number;
  readonly withoutRowid: number;
}

export function checkedTables(client: Database.Database): CheckedTable[] {
  const rows = client
    .prepare<[], ColumnRow>(
      `SELECT t.name AS "table", c.name AS "column", c.pk, t.wr AS withoutRowid
       FROM pragma_table_list t, pragma_table_info(t.name) c
       WHERE t.schema = 'main' AND t.type = 'table' ORDER BY t.name, c.cid`,
    )
    .all();
  const tables = [...Map.groupBy(rows, ({ table }) => table)];
  return tables
    .filter(([, own]) => own.some(({ column }) => column === CHECKSUM_COLUMN))
    .map(([name, own]) => ({
      name,
      columns: own.map(({ column }) => column).filter((column) => column !== CHECKSUM_COLUMN),
      key: own.some(({ withoutRowid }) => withoutRowid === 1)
        ? own.filter(({ pk }) => pk > 0).map(({ column }) => column)
        : ['rowid'],
    }));
}

/**
 * SQL for a row's checksum; requires `addChecksumFunction`.
 * @param prefix such as `NEW.`
 */
export function checksumOf({ name, columns }: CheckedTable, prefix = ''): string {
  return `row_checksum('${name}', ${columns.map((column) => `${prefix}"${column}"`).join(', ')})`;
}

export function addChecksumFunction(client: Database.Database): void {
  client.function('row_checksum', { varargs: true, deterministic: true }, (...values) => {
    let row = '';
    for (const value of values) row += textOf(value);
    return crc32(row);
  });
}

/** Injective: lengths mark the ends of values. */
function textOf(value: unknown): string {
  if (value === null) return 'n';
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (Buffer.isBuffer(value)) return `b${value.length}:${crc32(value)};`;
  return Object.is(value, -0) ? 'd-0;' : `d${String(value)};`;
}

/** From now on, rows written by this connection get checksums; after a migration all rows get them at once. */
export function keepChecksums(client: Database.Database): void {
  addChecksumFunction(client);
  const tables = checkedTables(client);
  const triggers = tables.map((table) => {
    const { name, columns, key } = table;
    const isNew = key.map((column) => `${column} = NEW.${column}`).join(' AND ');
    const write = `BEGIN UPDATE "${name}" SET ${CHECKSUM_COLUMN} = ${checksumOf(table, 'NEW.')} WHERE ${isNew}; END;`;
    return `
      CREATE TEMP TRIGGER "${name} inserted" AFTER INSERT ON main."${name}" WHEN NEW.${CHECKSUM_COLUMN} IS NULL ${write}
      CREATE TEMP TRIGGER "${name} updated" AFTER UPDATE OF ${columns.map((column) => `"${column}"`).join(', ')}
        ON main."${name}" ${write}`;
  });
  client.exec(triggers.join('\n'));
  if (!isChecked(client)) fillChecksums(client, tables);
}

/** `PRAGMA user_version` is the number of migrations when all rows last got their checksums. */
export function isChecked(client: Database.Database): boolean {
  return Number(client.pragma('user_version', { simple: true })) === migrationsIn(client);
}

function migrationsIn(client: Database.Database): number {
  return Number(client.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get());
}

function fillChecksums(client: Database.Database, tables: readonly CheckedTable[]): void {
  const fill = client.transaction(() => {
    for (const table of tables) {
      const checksum = checksumOf(table);
      client.exec(
        `UPDATE main."${table.name}" SET ${CHECKSUM_COLUMN} = ${checksum} WHERE ${CHECKSUM_COLUMN} IS NOT ${checksum}`,
      );
    }
    client.pragma(`user_version = ${migrationsIn(client)}`);
  });
  fill.immediate();
}
