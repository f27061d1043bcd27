import type Database from 'better-sqlite3';
import * as z from 'zod';

import { BenchError, StoreError, errorCode } from '../../errors.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { openToRead } from '../file/open-to-read.ts';
import { refuseForeign } from '../file/open.ts';
import { brokenReferences } from '../merge/tables.ts';
import { sqliteRefusal } from '../file/store-file.ts';

const DAMAGE_KINDS = [
  'file',
  'foreignKey',
  'schema',
  'row',
  'otherParser',
  'noArtefacts',
  'artefactMissing',
  'artefactDamaged',
  'engine',
] as const;

/** A defect: the problem, its place (the file, folder, table or run), and what to do. */
export const storeDamage = z.strictObject({
  kind: z.enum(DAMAGE_KINDS),
  where: z.string(),
  what: z.string(),
  advice: z.string(),
});

export type StoreDamage = Readonly<z.infer<typeof storeDamage>>;

/** Whether a problem is not damage: artefacts that never existed, or that another version read differently. */
export function isHarmless({ kind }: StoreDamage): boolean {
  return kind === 'noArtefacts' || kind === 'otherParser';
}

const RESTORE = 'keep the file; restore a backup, or make a new store with `bench import artefacts/`';

/** A store to verify, which is neither created nor migrated. */
export type VerifiedStore = Database.Database;

export function openToVerify(path: string, migrationsFolder: string): VerifiedStore | StoreDamage {
  let client: Database.Database | null = null;
  try {
    client = openToRead(path);
    refuseForeign(client, path, migrationsFolder);
    if (appliedMigration(client) > 0) return client;
    throw new StoreError(`${path} is empty; \`bench run\` or \`bench import\` fills it`);
  } catch (error) {
    client?.close();
    const refusal = error instanceof BenchError ? null : sqliteRefusal(error);
    if (refusal === null) throw error;
    if (!isDamage(error)) throw new StoreError(`${path} ${refusal}`, { cause: error });
    return { kind: 'file', where: path, what: 'SQLite cannot read it', advice: RESTORE };
  }
}

/** Runs SQLite's checks of the file and of references between rows. */
export function verifyFile(client: VerifiedStore, path: string, migrationsFolder: string, isQuick: boolean) {
  try {
    const found: StoreDamage[] = [
      ...integrity(client, path, isQuick ? 'quick_check' : 'integrity_check'),
      ...foreignKeys(client),
    ];
    if (appliedMigration(client) === newestMigration(migrationsFolder)) return found;
    const what = 'was written by an older version of bench: its rows were not checked';
    const advice = 'any other command updates it and keeps a copy of the old file';
    found.push({ kind: 'schema', where: path, what, advice });
    return found;
  } catch (error) {
    if (!isDamage(error)) throw error;
    const damage: StoreDamage = { kind: 'file', where: path, what: String(error), advice: RESTORE };
    return [damage];
  }
}

function integrity(client: Database.Database, path: string, check: string): StoreDamage[] {
  const lines = client
    .prepare<[], string>(`PRAGMA ${check}(50)`)
    .pluck()
    .all()
    .filter((line) => line !== 'ok');
  const [first, ...more] = lines.join('\n').split('\n').filter(Boolean);
  if (first === undefined) return [];
  const also = more.length === 0 ? '' : ` (and ${more.length} more)`;
  return [{ kind: 'file', where: path, what: `${first}${also}`, advice: RESTORE }];
}

function foreignKeys(client: Database.Database): StoreDamage[] {
  return brokenReferences(client, 'main').map(({ table, parent, rows: number }) => ({
    kind: 'foreignKey',
    where: table,
    what: `${number} ${number === 1 ? 'row refers' : 'rows refer'} to ${parent} that are not there`,
    advice: RESTORE,
  }));
}

function isDamage(error: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|ERROR|IOERR_SHORT_READ)/.test(errorCode(error));
}
