import { setImmediate as nextTurn } from 'node:timers/promises';

import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';

import { BenchError, StoreError, errorCode, errorText } from '../../errors.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { openToRead } from '../file/open-to-read.ts';
import { refuseForeign } from '../file/open.ts';
import { decodeLayers, decodeSamples } from '../runs/blob-codecs.ts';
import type { StoreDamage } from './damage.ts';
import { addChecksumFunction, checkedTables, CHECKSUM_COLUMN, checksumOf, isChecked } from './row-checksums.ts';
import { sqliteRefusal } from './sqlite-problems.ts';
import type { RunId } from '../../records/scalars.ts';

export const RESTORE = 'keep the file; restore a backup, or make a new store with `bench import artefacts/`';
const RESTORE_RUN = 'restore it from a backup of the store, or import its artefacts into a new one';
/** One read holds up to this many blobs, and the log of writers back for no longer than that takes. */
const BLOBS_AT_ONCE = 200;

/** A store that is examined, not created or migrated. */
export type VerifiedStore = ReturnType<typeof verified>;

export function openToVerify(path: string, migrationsFolder: string): VerifiedStore | StoreDamage {
  let client: Database.Database | null = null;
  try {
    client = openToRead(path);
    addChecksumFunction(client);
    refuseForeign(client, path, migrationsFolder);
    if (appliedMigration(client) === 0) {
      throw new StoreError(`${path}: is empty; \`bench run\` or \`bench import\` fills it`);
    }
    return verified(client);
  } catch (error) {
    client?.close();
    const refusal = error instanceof BenchError ? null : sqliteRefusal(error);
    if (refusal === null) throw error;
    if (!isDamage(error)) throw new StoreError(`${path}: ${refusal}`, { cause: error });
    return { kind: 'file', where: path, what: 'SQLite cannot read it', advice: RESTORE };
  }
}

function verified(client: Database.Database) {
  const count = (table: string): number => Number(client.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  return {
    kind: 'opened' as const,
    client,
    counts: () => ({ sweeps: count('sweeps'), runs: count('runs') }),
    close: (): void => {
      client.close();
    },
  };
}

export function verifyFile(
  { client }: VerifiedStore,
  path: string,
  migrationsFolder: string,
  isQuick: boolean,
): StoreDamage[] {
  const check = isQuick ? 'quick_check' : 'integrity_check';
  const found = guarded(path, () => {
    const lines = client
      .prepare<[], string>(`PRAGMA ${check}(50)`)
      .pluck()
      .all()
      .filter((line) => line !== 'ok');
    const [first, ...more] = lines.join('\n').split('\n').filter(Boolean);
    if (first === undefined) return [];
    const also = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return [{ kind: 'file' as const, where: path, what: `${first}${also}`, advice: RESTORE }];
  });
  const dangling = guarded(path, () => foreignKeys(client));
  return [...found, ...dangling, ...schemaOf(client, path, migrationsFolder)];
}

function foreignKeys(client: Database.Database): StoreDamage[] {
  const rows = client
    .prepare<[], { table: string; parent: string; rows: number }>(
      'SELECT "table", parent, count(*) AS rows FROM pragma_foreign_key_check GROUP BY "table", parent',
    )
    .all();
  return rows.map(({ table, parent, rows: number }) => ({
    kind: 'foreignKey',
    where: table,
    what: `${number} ${number === 1 ? 'row refers' : 'rows refer'} to ${parent} that are not there`,
    advice: RESTORE,
  }));
}

function schemaOf(client: Database.Database, path: string, migrationsFolder: string): StoreDamage[] {
  const where = path;
  if (appliedMigration(client) !== newestMigration(migrationsFolder) || !isChecked(client)) {
    const what = 'is of an older bench: its rows were not looked at';
    const advice = 'any other command brings it up to date, and leaves a copy of it as it was';
    return [{ kind: 'schema', where, what, advice }];
  }
  return guarded(path, () => {
    if (hasOwnStructure(client, migrationsFolder)) return [];
    const what = 'its tables or indexes are not those that bench makes';
    return [{ kind: 'schema', where, what, advice: RESTORE }];
  });
}

export async function verifyBlobs(
  { client }: Pick<VerifiedStore, 'client'>,
  path: string,
  onProgress: (runs: number) => void,
  signal: AbortSignal,
): Promise<StoreDamage[]> {
  const samples = await verifyTable(client, path, 'samples', onProgress, signal, (data, count) => {
    const decoded = decodeSamples(data);
    const lengths = Object.values(decoded.columns).map((values) => values.length);
    return decoded.count === count && lengths.every((length) => length === count);
  });
  const layers = await verifyTable(client, path, 'layers', onProgress, signal, (data, count) => {
    const { profile, layers: facts } = decodeLayers(data);
    return (profile?.length ?? facts.length) === count;
  });
  return [...samples, ...layers];
}

interface BlobRow {
  readonly row: number;
  readonly runId: RunId;
  readonly count: number;
  readonly isChanged: number;
  readonly data: Buffer;
}

const BLOBS = {
  samples: { table: 'samples', count: 'count' },
  layers: { table: 'layer_profiles', count: 'layer_count' },
} as const;

async function verifyTable(
  client: Database.Database,
  path: string,
  kind: 'samples' | 'layers',
  onProgress: (runs: number) => void,
  signal: AbortSignal,
  isWhole: (data: Buffer, count: number) => boolean,
): Promise<StoreDamage[]> {
  const { table, count } = BLOBS[kind];
  const checked = checkedTables(client).find(({ name }) => name === table);
  if (checked === undefined) return [];
  const statement = client.prepare<[number], BlobRow>(
    `SELECT rowid AS row, run_id AS runId, "${count}" AS count, data,
            ${CHECKSUM_COLUMN} IS NOT ${checksumOf(checked)} AS isChanged
     FROM ${table}
     WHERE rowid > ? ORDER BY rowid LIMIT ${BLOBS_AT_ONCE}`,
  );
  const damages: StoreDamage[] = [];
  let [last, done] = [-1, 0];
  for (;;) {
    await nextTurn();
    signal.throwIfAborted();
    let rows: BlobRow[] = [];
    const refused = guarded(path, () => ((rows = statement.all(last)), []));
    if (refused.length > 0) return [...damages, ...refused];
    for (const { runId, count: stated, data, isChanged } of rows) {
      if (isChanged === 0 && isFine(() => isWhole(data, stated))) continue;
      const what = `the ${kind} of the run are damaged`;
      damages.push({ kind, where: `run ${runId}`, what, advice: RESTORE_RUN });
    }
    last = rows.at(-1)?.row ?? last;
    done += rows.length;
    onProgress(done);
    if (rows.length < BLOBS_AT_ONCE) return damages;
  }
}

function isFine(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

/** An unreadable page ends a check, and is reported, too. */
export function guarded(path: string, look: () => StoreDamage[]): StoreDamage[] {
  try {
    return look();
  } catch (error) {
    if (!isDamage(error)) throw error;
    const what = errorText(error);
    return [{ kind: 'file', where: path, what, advice: RESTORE }];
  }
}

function isDamage(error: unknown): boolean {
  const code = errorCode(error);
  return /^SQLITE_(?:CORRUPT|NOTADB|ERROR|IOERR_SHORT_READ)/.test(code) && code !== 'SQLITE_NOTADB';
}

/** What determines which rows a query finds and how it reads them; not the text of the DDL statements. */
const STRUCTURE = [
  `SELECT t.name, t.wr, t.strict, c.* FROM pragma_table_list t, pragma_table_xinfo(t.name) c
   WHERE t.schema = 'main' AND t.name <> 'sqlite_schema'`,
  `SELECT t.name, i.* FROM pragma_table_list t, pragma_index_list(t.name) i WHERE t.schema = 'main'`,
  `SELECT m.name, x.* FROM sqlite_schema m, pragma_index_xinfo(m.name) x WHERE m.type = 'index'`,
  `SELECT t.name, f.* FROM pragma_table_list t, pragma_foreign_key_list(t.name) f WHERE t.schema = 'main'`,
  `SELECT type, name, tbl_name FROM sqlite_schema`,
];

function hasOwnStructure(client: Database.Database, migrationsFolder: string): boolean {
  const fresh = new Database(':memory:');
  try {
    migrate(drizzle(fresh), { migrationsFolder });
    return structureOf(client) === structureOf(fresh);
  } finally {
    fresh.close();
  }
}

function structureOf(client: Database.Database): string {
  const parts = STRUCTURE.map((sql) =>
    client
      .prepare<[], unknown[]>(sql)
      .raw()
      .all()
      .map((row) => JSON.stringify(row))
      .toSorted(),
  );
  return JSON.stringify(parts);
}
