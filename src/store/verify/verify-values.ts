import { setImmediate as nextTurn } from 'node:timers/promises';

import type Database from 'better-sqlite3';

import type { StoreDamage } from './damage.ts';
import { guarded } from './verify-rows.ts';

/** What `typeof` may say of a value, by the type that the column was made with. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  TEXT: ['text'],
  INTEGER: ['integer', 'real'],
  REAL: ['real', 'integer'],
  BLOB: ['blob'],
};

/** Texts that are read as JSON, by `table.column`. */
const JSON_COLUMNS: Readonly<Record<string, 'object' | 'array'>> = {
  'accuracy.inputs': 'object',
  'accuracy.versions': 'object',
  'builds.flags': 'array',
  'cells.axis_flags': 'object',
  'cells.harness': 'object',
  'cells.inputs': 'object',
  'cells.shapes': 'object',
  'invocations.argv': 'array',
  'invocations.banner': 'object',
  'invocations.env': 'object',
  'run_telemetry.clock_reasons': 'object',
  'run_telemetry.other_processes': 'array',
  'runs.notes': 'array',
  'sweeps.plan': 'object',
  'time_statistics.other_percentiles': 'object',
};

interface ColumnRow {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

/** Values of another type than their column was made for: SQLite takes any, and the commands that read them do not. */
export async function verifyValues(
  client: Database.Database,
  path: string,
  signal: AbortSignal,
): Promise<StoreDamage[]> {
  const damages: StoreDamage[] = [];
  let tables: [string, ColumnRow[]][] = [];
  damages.push(...guarded(path, () => ((tables = tablesOf(client)), [])));
  for (const [table, columns] of tables) {
    await nextTurn();
    signal.throwIfAborted();
    damages.push(...guarded(path, () => wrongIn(client, table, columns)));
  }
  return damages;
}

function tablesOf(client: Database.Database): [string, ColumnRow[]][] {
  const columns = client
    .prepare<[], ColumnRow>(
      `SELECT t.name AS "table", c.name AS "column", upper(c.type) AS type
         FROM pragma_table_list t, pragma_table_info(t.name) c
         WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE '\\_\\_%' ESCAPE '\\' AND t.name NOT LIKE 'sqlite%'
         ORDER BY t.name, c.cid`,
    )
    .all();
  return [...Map.groupBy(columns, ({ table }) => table)];
}

function wrongIn(client: Database.Database, table: string, columns: readonly ColumnRow[]): StoreDamage[] {
  const counts = columns.map((column) => `total(${isWrong(column)})`).join(', ');
  const found = client.prepare<[], number[]>(`SELECT ${counts} FROM "${table}"`).raw().get() ?? [];
  return columns.flatMap((column, index) => {
    const rows = found[index] ?? 0;
    if (rows === 0) return [];
    const where = `${table}.${column.column}`;
    const what = `${rows} ${rows === 1 ? 'value is' : 'values are'} not ${wanted(column)}`;
    const advice = 'keep the file; restore a backup, or make a new store with `bench import artefacts/`';
    return [{ kind: 'row' as const, where, what, advice }];
  });
}

function isWrong({ table, column, type }: ColumnRow): string {
  const allowed = [...(ALLOWED[type] ?? []), 'null'].map((one) => `'${one}'`).join(', ');
  const isOther = `typeof("${column}") NOT IN (${allowed})`;
  const json = JSON_COLUMNS[`${table}.${column}`];
  if (json === undefined) return isOther;
  return `CASE WHEN "${column}" IS NULL THEN 0 WHEN ${isOther} OR NOT json_valid("${column}") THEN 1
    ELSE json_type("${column}") <> '${json}' END`;
}

function wanted({ table, column, type }: ColumnRow): string {
  const json = JSON_COLUMNS[`${table}.${column}`];
  return json === undefined ? `of type ${type}` : `a JSON ${json}`;
}
