import { setImmediate as nextTurn } from 'node:timers/promises';

import type Database from 'better-sqlite3';

import { StoreError } from '../../errors.ts';
import type { OpenStore } from '../file/open.ts';
import type { StoreDamage } from './damage.ts';
import { addChecksumFunction, type CheckedTable, checkedTables, CHECKSUM_COLUMN, checksumOf } from './row-checksums.ts';
import { guarded, type VerifiedStore, verifyBlobs, RESTORE } from './verify-rows.ts';
import { printable } from '../../text/printable.ts';

/** Allowed results of `typeof`, by the declared type of the column. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  TEXT: ['text'],
  INTEGER: ['integer', 'real'],
  REAL: ['real', 'integer'],
  BLOB: ['blob'],
};

/** Texts with JSON, by `table.column`. */
const JSON_COLUMNS: Readonly<Record<string, 'object' | 'array'>> = {
  'accuracy.inputs': 'object',
  'accuracy.versions': 'object',
  'builds.flags': 'array',
  'cells.axis_flags': 'object',
  'cells.harness': 'object',
  'cells.inputs': 'object',
  'cells.shapes': 'object',
  'finding_cells.ci_percent': 'array',
  'findings.environment_changes': 'array',
  'findings.group_words': 'array',
  'findings.pairs': 'object',
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

/** Finds values of another type than their column's: SQLite accepts any type, but the commands do not. */
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
  const conditions = columns.map(isWrong);
  // Nearly every table is whole: sums of each column are for those that are not.
  const isWhole =
    client.prepare(`SELECT 1 FROM "${table}" WHERE ${conditions.join(' OR ')} LIMIT 1`).get() === undefined;
  if (isWhole) return [];
  const counts = conditions.map((condition) => `total(${condition})`).join(', ');
  const found = client.prepare<[], number[]>(`SELECT ${counts} FROM "${table}"`).raw().get() ?? [];
  return columns.flatMap((column, index) => {
    const rows = found[index] ?? 0;
    if (rows === 0) return [];
    const where = `${table}.${column.column}`;
    const what = `${rows} ${rows === 1 ? 'value is' : 'values are'} not ${wanted(column)}`;
    return [{ kind: 'row' as const, where, what, advice: RESTORE }];
  });
}

function isWrong({ table, column, type }: ColumnRow): string {
  const isOther = ['TRUE', ...(ALLOWED[type] ?? []).map((one) => `typeof("${column}") <> '${one}'`)].join(' AND ');
  const json = JSON_COLUMNS[`${table}.${column}`];
  if (json === undefined) return `"${column}" IS NOT NULL AND ${isOther}`;
  return `CASE WHEN "${column}" IS NULL THEN 0 WHEN ${isOther} OR NOT json_valid("${column}") THEN 1
    ELSE json_type("${column}") <> '${json}' END`;
}

function wanted({ table, column, type }: ColumnRow): string {
  const json = JSON_COLUMNS[`${table}.${column}`];
  return json === undefined ? `of type ${type}` : `a JSON ${json}`;
}

const ROWS_AT_ONCE = 2000;
const MAX_NAMED = 3;
/** Their rows are checked along with their content. */
const WITH_BLOBS = ['samples', 'layer_profiles'];

/** Finds rows that bench did not write this way: changed by a disk or another program. */
export async function verifyChecksums(
  { client }: Pick<VerifiedStore, 'client'>,
  path: string,
  onProgress: (rows: number) => void,
  signal: AbortSignal,
): Promise<StoreDamage[]> {
  const damages: StoreDamage[] = [];
  let done = 0;
  for (const table of checkedTables(client)) {
    if (WITH_BLOBS.includes(table.name)) continue;
    const changed: string[] = [];
    const found = rowsOf(client, table);
    for (;;) {
      await nextTurn();
      signal.throwIfAborted();
      let rows: unknown[][] = [];
      damages.push(...guarded(path, () => ((rows = found.next().value ?? []), [])));
      if (rows.length === 0) break;
      for (const row of rows) if (row[0] === 1) changed.push(String(row[1]));
      done += rows.length;
      onProgress(done);
    }
    if (changed.length > 0) damages.push(damageOf(table.name, changed));
  }
  return damages;
}

/** Whether each row of a table is changed (1), its first column, its key; in chunks: a long read would block checkpoints of the WAL. */
function* rowsOf(client: Database.Database, table: CheckedTable): Generator<unknown[][], undefined> {
  const { name, key, columns } = table;
  const keys = key.join(', ');
  const select = `SELECT ${CHECKSUM_COLUMN} IS NOT ${checksumOf(table)}, "${columns[0]}", ${keys} FROM "${name}"`;
  const order = `ORDER BY ${keys} LIMIT ${ROWS_AT_ONCE}`;
  const next = client
    .prepare<unknown[], unknown[]>(`${select} WHERE (${keys}) > (${key.map(() => '?').join(', ')}) ${order}`)
    .raw();
  let rows = client.prepare<[], unknown[]>(`${select} ${order}`).raw().all();
  while (rows.length > 0) {
    yield rows;
    rows = next.all(...(rows.at(-1) ?? []).slice(2));
  }
}

function damageOf(table: string, keys: readonly string[]): StoreDamage {
  const named = [...new Set(keys)].slice(0, MAX_NAMED).join(', ');
  const more = keys.length > MAX_NAMED ? ', …' : '';
  return {
    kind: 'row',
    where: table,
    what: `${keys.length} ${keys.length === 1 ? 'row is' : 'rows are'} not as bench wrote ${keys.length === 1 ? 'it' : 'them'} (${named}${more})`,
    advice: RESTORE,
  };
}

/** Damage in the store that explains a failed command; null if it is intact, and bench has a defect. */
export async function damageBehind(
  error: unknown,
  { db, path }: OpenStore,
  signal: AbortSignal,
): Promise<StoreError | null> {
  const { $client: client } = db;
  addChecksumFunction(client);
  const looks = [
    () => verifyValues(client, path, signal),
    () => verifyChecksums({ client }, path, () => {}, signal),
    () => verifyBlobs({ client }, path, () => {}, signal),
  ];
  for (const look of looks) {
    const [damage] = await look();
    if (damage === undefined) continue;
    const { where, what } = damage;
    return new StoreError(`the store is damaged: ${printable(where)}: ${what}; \`bench db verify\` says more of it`, {
      cause: error,
    });
  }
  return null;
}
