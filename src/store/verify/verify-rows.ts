import { setImmediate as nextTurn } from 'node:timers/promises';

import type Database from 'better-sqlite3';

import { BenchError, StoreError } from '../../errors.ts';
import type { StoreDamage } from './damage.ts';
import { decodeLayers } from '../runs/layers-codec.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { openToRead } from '../file/open-to-read.ts';
import { refuseForeign } from '../file/open.ts';
import { addChecksumFunction, CHECKSUM_COLUMN, checksumOf, checkedTables, isChecked } from './row-checksums.ts';
import { decodeSamples } from '../runs/samples-codec.ts';
import { hasOwnStructure } from './verify-structure.ts';
import { sqliteRefusal } from './sqlite-problems.ts';

const RESTORE = 'keep the file; restore a backup, or make a new store with `bench import artefacts/`';
const RESTORE_RUN = 'restore it from a backup of the store, or import its artefacts into a new one';
/** One read holds up to so many blobs, and the log of writers back for no longer than that takes. */
const BLOBS_AT_ONCE = 200;

/** A store that is looked at and not changed: neither is it made, nor brought up to date. */
export interface VerifiedStore {
  readonly kind: 'opened';
  readonly client: Database.Database;
  counts(): { sweeps: number; runs: number };
  close(): void;
}

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

function verified(client: Database.Database): VerifiedStore {
  const count = (table: string): number => Number(client.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  return {
    kind: 'opened',
    client,
    counts: () => ({ sweeps: count('sweeps'), runs: count('runs') }),
    close: () => client.close(),
  };
}

/** What SQLite itself finds, and whether the schema is that of this program. */
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

/** Whether every blob can be decoded and holds as many values as its row says. */
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
  readonly runId: string;
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
    let rows: BlobRow[];
    try {
      rows = statement.all(last);
    } catch (error) {
      return [...damages, ...guarded(path, () => rethrow(error))];
    }
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

function rethrow(error: unknown): never {
  throw error;
}

/** A page that cannot be read ends a look: that is a finding as well. */
export function guarded(path: string, look: () => StoreDamage[]): StoreDamage[] {
  try {
    return look();
  } catch (error) {
    if (!isDamage(error)) throw error;
    const what = error instanceof Error ? error.message : String(error);
    return [{ kind: 'file', where: path, what, advice: RESTORE }];
  }
}

function isDamage(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^SQLITE_(?:CORRUPT|NOTADB|ERROR|IOERR_SHORT_READ)/.test(code) && code !== 'SQLITE_NOTADB';
}
