import { setImmediate as nextTurn } from 'node:timers/promises';

import type Database from 'better-sqlite3';

import type { StoreDamage } from './damage.ts';
import { CHECKSUM_COLUMN, checkedTables, type CheckedTable, checksumOf } from './row-checksums.ts';
import { guarded, type VerifiedStore } from './verify-rows.ts';

const ROWS_AT_ONCE = 2000;
const MAX_NAMED = 3;
/** Their rows are looked at with what is in them. */
const WITH_BLOBS = ['samples', 'layer_profiles'];

/** Rows that are not as bench wrote them: a disk, or another program, changed them. */
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
      let rows: LookedAtRow[] = [];
      damages.push(...guarded(path, () => ((rows = found.next().value ?? []), [])));
      if (rows.length === 0) break;
      for (const { isChanged, name } of rows) if (isChanged === 1) changed.push(String(name));
      done += rows.length;
      onProgress(done);
    }
    if (changed.length > 0) damages.push(damageOf(table.name, changed));
  }
  return damages;
}

interface LookedAtRow {
  readonly isChanged: number;
  readonly name: unknown;
}

/** All rows of a table, some at a time: a long read would hold the log of writers back. */
function* rowsOf(client: Database.Database, table: CheckedTable): Generator<LookedAtRow[], undefined> {
  const { name, key, columns } = table;
  const keys = key.join(', ');
  const select = `SELECT ${keys}, ${CHECKSUM_COLUMN} IS NOT ${checksumOf(table)}, "${columns[0]}" FROM "${name}"`;
  const order = `ORDER BY ${keys} LIMIT ${ROWS_AT_ONCE}`;
  const next = client
    .prepare<unknown[], unknown[]>(`${select} WHERE (${keys}) > (${key.map(() => '?').join(', ')}) ${order}`)
    .raw();
  let rows = client.prepare<[], unknown[]>(`${select} ${order}`).raw().all();
  while (rows.length > 0) {
    yield rows.map((row) => ({ isChanged: Number(row[key.length]), name: row[key.length + 1] }));
    rows = next.all(...(rows.at(-1) ?? []).slice(0, key.length));
  }
}

function damageOf(table: string, keys: readonly string[]): StoreDamage {
  const named = [...new Set(keys)].slice(0, MAX_NAMED).join(', ');
  const more = keys.length > MAX_NAMED ? ', …' : '';
  return {
    kind: 'row',
    where: table,
    what: `${keys.length} ${keys.length === 1 ? 'row is' : 'rows are'} not as bench wrote ${keys.length === 1 ? 'it' : 'them'} (${named}${more})`,
    advice: 'keep the file; restore a backup, or make a new store with `bench import artefacts/`',
  };
}
