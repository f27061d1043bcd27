import type Database from 'better-sqlite3';

import type { SiblingStores } from '../file/sibling-stores.ts';
import type { Attachment } from '../../artefacts/attachment.ts';
import type { StoredArtefact } from '../../records/run.ts';
import type { VerifiedStore } from './verify-rows.ts';
import type { RunId, SweepId } from '../../records/scalars.ts';

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
  return {
    sweepIds: new Set(states.keys()),
    runsOf: (sweepId: SweepId) => runFilesOf(client, sweepId),
    attachedOf: (sweepId: SweepId) => attachedOf(client, sweepId),
    knows: (sweepId: SweepId, runId: RunId) => find.get(runId) !== undefined || siblings.runsOf(sweepId).has(runId),
    isUnfinished: (sweepId: SweepId) =>
      states.has(sweepId) ? states.get(sweepId) !== 'finished' : siblings.hasSweep(sweepId),
  };
}

export function hasArtefacts({ client }: VerifiedStore): boolean {
  return client.prepare('SELECT 1 FROM artefacts LIMIT 1').get() !== undefined;
}

function attachedOf(client: Database.Database, sweepId: SweepId): AttachedFile[] {
  const known = client.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'attachments'`).get();
  // A store of an older version may lack the table.
  if (known === undefined) return [];
  return client
    .prepare<[string], AttachedFile>(
      `SELECT a.run_id AS runId, a.name, a.sha256, a.bytes
       FROM runs r JOIN attachments a ON a.run_id = r.run_id
       WHERE r.sweep_id = ? AND a.pruned_at IS NULL ORDER BY a.run_id, a.name`,
    )
    .all(sweepId);
}

function runFilesOf(client: Database.Database, sweepId: SweepId): Map<string, RunFiles> {
  const rows = client
    .prepare<[string], { runId: RunId; isPruned: number; name: string | null; sha256: string; bytes: number }>(
      `SELECT r.run_id AS runId, coalesce(p.artefacts, 0) AS isPruned, a.name, a.sha256, a.bytes
       FROM runs r LEFT JOIN pruned_runs p ON p.run_id = r.run_id LEFT JOIN artefacts a ON a.run_id = r.run_id
       WHERE r.sweep_id = ? AND r.artefact_folder IS NOT NULL ORDER BY r.run_id, a.name`,
    )
    .all(sweepId);
  const byRun = Map.groupBy(rows, ({ runId }) => runId);
  return new Map(
    [...byRun].map(([runId, own]) => [
      runId,
      {
        runId,
        isPruned: own.some(({ isPruned }) => isPruned === 1),
        files: own.flatMap(({ name, sha256, bytes }) => (name === null ? [] : [{ name, sha256, bytes }])),
      },
    ]),
  );
}
