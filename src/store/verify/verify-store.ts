import * as z from 'zod';

import { StoreError, errorCode } from '../../errors.ts';
import { count } from '../../records/output-parts.ts';
import type { SweepId } from '../../records/scalars.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { openUnchanged } from '../file/open.ts';
import { brokenReferences, differencesIn, MERGED_TABLES, sameKeys, shapeOf } from '../merge/tables.ts';
import type { MergeConflict } from '../merge/tables.ts';
import type Database from 'better-sqlite3';
import { existsSync, statSync } from 'node:fs';
import { sizeOf } from '../../files/folders.ts';
import { readFrom } from '../file/open-to-read.ts';
import { sqliteRefusal } from '../file/store-file.ts';

/** A defect: the problem, its place (the file, folder, table or run), and what to do. */
export const storeDamage = z.strictObject({
  kind: z.enum([
    'file',
    'foreignKey',
    'schema',
    'row',
    'otherParser',
    'noArtefacts',
    'notStored',
    'artefactMissing',
    'artefactDamaged',
    'engine',
  ]),
  where: z.string(),
  what: z.string(),
  advice: z.string(),
});

export type StoreDamage = Readonly<z.infer<typeof storeDamage>>;

/** Not damage: artefacts that never existed, are of another store, or that another version read differently. */
export function isHarmless({ kind }: StoreDamage): boolean {
  return kind === 'noArtefacts' || kind === 'notStored' || kind === 'otherParser';
}

const RESTORE = 'keep the file; restore a backup, or make a new store with `bench import artefacts/`';

/** A store to verify, which is neither created nor migrated. */
export type VerifiedStore = Database.Database;

/** Opens a store and runs SQLite's checks of the file and of references between rows. `client` is null if it is damaged. */
export function openToVerify(path: string, migrationsFolder: string, isQuick: boolean) {
  let client: VerifiedStore | null = null;
  try {
    client = openUnchanged(path, migrationsFolder);
    return { client, found: checked(client, path, migrationsFolder, isQuick) };
  } catch (error) {
    client?.close();
    const cause = error instanceof StoreError ? error.cause : error;
    if (!/^SQLITE_(?:CORRUPT|ERROR|IOERR_SHORT_READ)/.test(errorCode(cause))) throw error;
    const found: StoreDamage[] = [{ kind: 'file', where: path, what: 'SQLite cannot read it', advice: RESTORE }];
    return { client: null, found };
  }
}

function checked(client: VerifiedStore, path: string, migrationsFolder: string, isQuick: boolean): StoreDamage[] {
  const check = client.prepare<[], string>(`PRAGMA ${isQuick ? 'quick_check' : 'integrity_check'}(50)`).pluck();
  const [first = 'ok', ...more] = check.all().join('\n').split('\n');
  const also = more.length === 0 ? '' : ` (and ${more.length} more)`;
  const found: StoreDamage[] =
    first === 'ok' ? [] : [{ kind: 'file', where: path, what: `${first}${also}`, advice: RESTORE }];
  for (const { table, parent, rows } of brokenReferences(client, 'main')) {
    const what = `${rows} ${rows === 1 ? 'row refers' : 'rows refer'} to ${parent} that are not there`;
    found.push({ kind: 'foreignKey', where: table, what, advice: RESTORE });
  }
  if (appliedMigration(client) < newestMigration(migrationsFolder)) {
    const what = 'was written by an older version of bench: its rows were not checked';
    const advice = 'any other command updates it and keeps a copy of the old file';
    found.push({ kind: 'schema', where: path, what, advice });
  }
  return found;
}

/**
 * Tables that can be restored from artefacts, in addition to those of runs. Accuracies, baselines and attachments are
 * only in the store.
 */
const RESTORED = [
  ...MERGED_TABLES.shared,
  ...MERGED_TABLES.sweep,
  'findings',
  'finding_cells',
  'acknowledgements',
  'judged_sweeps',
] as const;
/** No artefact records the notifications. */
const NOT_RESTORED: Readonly<Record<string, readonly string[]>> = { findings: ['"notified_at"'] };

export const comparedTable = z.strictObject({
  table: z.string(),
  rows: count.describe('Rows compared with the artefacts'),
  notComparable: count.describe('Rows without artefacts'),
});

/**
 * Compares a store with another one made from its artefacts, table by table.
 * @param toolVersion version of this bench; differences in sweeps of another version may be due to its parser
 * @param sweepIds null for all
 */
export function compareRebuilt(
  client: VerifiedStore,
  rebuiltPath: string,
  toolVersion: string,
  sweepIds: readonly SweepId[] | null,
) {
  client.pragma('query_only = OFF');
  client.prepare('ATTACH ? AS other').run(rebuiltPath);
  client.exec('CREATE TEMP TABLE common_runs (run_id TEXT PRIMARY KEY) WITHOUT ROWID');
  // Includes runs that only the artefacts have.
  const takeRuns = client.prepare(`INSERT INTO common_runs SELECT o.run_id FROM other.runs o
    JOIN main.sweeps s ON s.sweep_id = o.sweep_id WHERE (s.tool_version = ?) = ?`);
  const isOwnBuild = `EXISTS (SELECT 1 FROM main.runs r JOIN main.sweeps s ON s.sweep_id = r.sweep_id
    WHERE r.build_id = m.build_id AND r.role = 'build' AND s.tool_version = '${toolVersion.replaceAll("'", "''")}')`;
  const found: StoreDamage[] = [];
  for (const isOwn of [true, false]) {
    client.exec('DELETE FROM common_runs');
    takeRuns.run(toolVersion, Number(isOwn));
    const builds = differencesIn(client, 'builds', [], isOwn ? isOwnBuild : `NOT ${isOwnBuild}`);
    const ofRuns = MERGED_TABLES.run.flatMap((table) => [
      ...differencesIn(client, table),
      ...withoutOrigin(client, table),
    ]);
    found.push(...[...builds, ...ofRuns].map((one) => damageOf(one, isOwn)));
  }
  const others = RESTORED.filter((table) => table !== 'builds');
  const differing = others.flatMap((table) => differencesIn(client, table, NOT_RESTORED[table]));
  found.push(...differing.map((one) => damageOf(one, true)));
  const elsewhere = 'SELECT sweep_id FROM other.sweeps WHERE sweep_id NOT IN (SELECT sweep_id FROM main.sweeps)';
  for (const where of client.prepare<[], string>(elsewhere).pluck().all()) {
    const advice = 'if it is of no other store in this folder, `bench import artefacts/` adds it';
    found.push({ kind: 'notStored', where, what: 'a sweep with artefacts that is not in this store', advice });
  }
  const tables = [...RESTORED, ...MERGED_TABLES.run].map((table) => compared(client, table, sweepIds));
  client.exec('DROP TABLE temp.common_runs; DETACH other; PRAGMA query_only = ON');
  return { tables, found };
}

/** Rows of a run in both stores that its artefacts do not contain. */
function withoutOrigin(client: VerifiedStore, table: string): MergeConflict[] {
  // Only this store knows what was pruned and which starts a kill interrupted.
  if (table === 'pruned_runs') return [];
  const ids = client
    .prepare<[], string>(
      `SELECT m.run_id FROM common_runs c CROSS JOIN main."${table}" m ON m.run_id = c.run_id
       LEFT JOIN other."${table}" o ON ${sameKeys(shapeOf(client, table))} WHERE o.run_id IS NULL`,
    )
    .pluck()
    .all();
  return ids.length === 0 ? [] : [{ table, columns: ['*'], rows: ids.length, examples: ids.slice(0, 3) }];
}

function damageOf({ table, columns, rows, examples }: MergeConflict, isOwn: boolean): StoreDamage {
  const number = `${rows} ${rows === 1 ? 'row' : 'rows'}`;
  const named = `(${examples.join(', ')}${rows > examples.length ? ', …' : ''})`;
  const what =
    columns.length === 0
      ? `lacks ${number} that the artefacts give ${named}`
      : columns[0] === '*'
        ? `has ${number} that the artefacts do not give ${named}`
        : `${number} ${rows === 1 ? 'differs' : 'differ'} from the artefacts in ${columns.join(', ')} ${named}`;
  const advice = isOwn
    ? 'restore a backup, or make a new store with `bench import artefacts/`'
    : 'stored by another version of bench, whose parser may have read them otherwise';
  return { kind: isOwn ? 'row' : 'otherParser', where: table, what, advice };
}

function compared(client: VerifiedStore, table: string, sweepIds: readonly SweepId[] | null) {
  const shape = shapeOf(client, table);
  const [columns, [key]] = [[...shape.keys, ...shape.values], shape.keys];
  const asked = 'IN (SELECT value FROM json_each(@ids))';
  const ofSweep = columns.includes('"sweep_id"')
    ? `m.sweep_id ${asked}`
    : columns.includes('"run_id"')
      ? `m.run_id IN (SELECT run_id FROM main.runs WHERE sweep_id ${asked})`
      : // Rows that several sweeps share.
        `o.${key} IS NOT NULL`;
  const row = client
    .prepare<[{ ids: string }], { rows: number; here: number }>(
      `SELECT count(*) AS "here", count(o.${key}) AS "rows" FROM main."${table}" m
       LEFT JOIN other."${table}" o ON ${sameKeys(shape)} WHERE @ids = 'null' OR ${ofSweep}`,
    )
    .get({ ids: JSON.stringify(sweepIds) });
  const { rows, here } = row ?? { rows: 0, here: 0 };
  return { table, rows, notComparable: here - rows };
}

export type StoreHealth = Readonly<ReturnType<typeof storeHealth>>;

export function storeHealth(path: string, migrationsFolder: string) {
  if (!existsSync(path)) return { kind: 'none' as const, path };
  if (statSync(path).isDirectory()) return { kind: 'refused' as const, path, problem: 'is a folder' };
  try {
    return readFrom(path, (client) => healthOf(client, path, migrationsFolder));
  } catch (error) {
    const problem = sqliteRefusal(error);
    if (problem === null) throw error;
    return { kind: 'refused' as const, path, problem };
  }
}

function healthOf(client: Database.Database, path: string, migrationsFolder: string) {
  const applied = appliedMigration(client);
  return {
    kind: 'opened' as const,
    path,
    bytes: sizeOf(path),
    sweeps: applied === 0 ? null : Number(client.prepare('SELECT count(*) FROM sweeps').pluck().get()),
    /** `ok`, or SQLite's first error. */
    quickCheck: String(client.pragma('quick_check(1)', { simple: true })),
    isNewer: applied > newestMigration(migrationsFolder),
  };
}
