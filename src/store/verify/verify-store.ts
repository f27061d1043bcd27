import type Database from 'better-sqlite3';
import * as z from 'zod';

import type { Attachment } from '../../artefacts/attachment.ts';
import { BenchError, StoreError, errorCode } from '../../errors.ts';
import type { StoredArtefact } from '../../records/run.ts';
import type { RunId, SweepId } from '../../records/scalars.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { openToRead } from '../file/open-to-read.ts';
import { refuseForeign } from '../file/open.ts';
import type { SiblingStores } from '../prune.ts';
import { brokenReferences } from '../merge/tables.ts';
import { sqliteRefusal } from './sqlite-problems.ts';

const DAMAGE_KINDS = [
  'file',
  'foreignKey',
  'schema',
  'row',
  'otherParser',
  'noArtefacts',
  'artefactMissing',
  'artefactDamaged',
  'notStored',
  'engine',
  'variant',
  'leftover',
] as const;

/** A defect: what, where (the file, folder, table or run), and what to do. */
export const storeDamage = z.strictObject({
  kind: z.enum(DAMAGE_KINDS),
  where: z.string(),
  what: z.string(),
  advice: z.string(),
});

export type StoreDamage = Readonly<z.infer<typeof storeDamage>>;

/** Left by a dead process, never created, or read in another way by another version: no damage. */
export function isHarmless({ kind }: StoreDamage): boolean {
  return kind === 'leftover' || kind === 'noArtefacts' || kind === 'otherParser';
}

const RESTORE = 'keep the file; restore a backup, or make a new store with `bench import artefacts/`';

/** A store that is examined, not created or migrated. */
export type VerifiedStore = ReturnType<typeof verified>;

export function openToVerify(path: string, migrationsFolder: string): VerifiedStore | StoreDamage {
  let client: Database.Database | null = null;
  try {
    client = openToRead(path);
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

/** SQLite's own checks: of the file, and of references between rows. */
export function verifyFile(
  { client }: VerifiedStore,
  path: string,
  migrationsFolder: string,
  isQuick: boolean,
): StoreDamage[] {
  try {
    const found = [...integrity(client, path, isQuick ? 'quick_check' : 'integrity_check'), ...foreignKeys(client)];
    if (appliedMigration(client) === newestMigration(migrationsFolder)) return found;
    const what = 'is of an older bench: its rows were not looked at';
    const advice = 'any other command brings it up to date, and leaves a copy of it as it was';
    return [...found, { kind: 'schema', where: path, what, advice }];
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [{ kind: 'file', where: path, what: String(error), advice: RESTORE }];
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

export interface RunFiles {
  readonly runId: RunId;
  readonly isPruned: boolean;
  readonly files: readonly StoredArtefact[];
}

export type AttachedFile = Pick<Attachment, 'bytes' | 'name' | 'runId' | 'sha256'>;

/** What a store, and others of the same folder, know of the artefacts next to them. */
export function knownRuns({ client }: VerifiedStore, siblings: SiblingStores) {
  const states = new Map(
    client.prepare<[], [sweepId: SweepId, state: string]>('SELECT sweep_id, state FROM sweeps').raw().all(),
  );
  const find = client.prepare('SELECT 1 FROM runs WHERE run_id = ?');
  const attached = client.prepare<[string], AttachedFile>(
    `SELECT a.run_id AS runId, a.name, a.sha256, a.bytes FROM runs r JOIN attachments a ON a.run_id = r.run_id
     WHERE r.sweep_id = ? AND a.pruned_at IS NULL ORDER BY a.run_id, a.name`,
  );
  return {
    sweepIds: new Set(states.keys()),
    runsOf: (sweepId: SweepId) => runFilesOf(client, sweepId),
    attachedOf: (sweepId: SweepId) => attached.all(sweepId),
    knows: (sweepId: SweepId, runId: RunId) => find.get(runId) !== undefined || siblings.runsOf(sweepId).has(runId),
    isUnfinished: (sweepId: SweepId) =>
      states.has(sweepId) ? states.get(sweepId) !== 'finished' : siblings.hasSweep(sweepId),
  };
}

export function hasArtefacts({ client }: VerifiedStore): boolean {
  return client.prepare('SELECT 1 FROM artefacts LIMIT 1').get() !== undefined;
}

function runFilesOf(client: Database.Database, sweepId: SweepId): RunFiles[] {
  const rows = client
    .prepare<[string], { runId: RunId; isPruned: number; name: string | null; sha256: string; bytes: number }>(
      `SELECT r.run_id AS runId, coalesce(p.artefacts, 0) AS isPruned, a.name, a.sha256, a.bytes
       FROM runs r LEFT JOIN pruned_runs p ON p.run_id = r.run_id LEFT JOIN artefacts a ON a.run_id = r.run_id
       WHERE r.sweep_id = ? AND r.artefact_folder IS NOT NULL ORDER BY r.run_id, a.name`,
    )
    .all(sweepId);
  return [...Map.groupBy(rows, ({ runId }) => runId)].map(([runId, own]) => ({
    runId,
    isPruned: own.some(({ isPruned }) => isPruned === 1),
    files: own.flatMap(({ name, sha256, bytes }) => (name === null ? [] : [{ name, sha256, bytes }])),
  }));
}
