import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type Database from 'better-sqlite3';
import { and, asc, eq, isNotNull } from 'drizzle-orm';

import type { SweepId } from '../records/scalars.ts';
import { appliedMigration } from './file/migrations.ts';
import { openToRead } from './file/open-to-read.ts';
import type { StoreDatabase } from './file/open.ts';
import { prunedRuns, runs } from './schema.ts';
import { NEWEST_FIRST } from './sweeps/sweep-order.ts';

/** Retention rules. A sweep stays if any of them keeps it. */
export interface KeepRules {
  /** Keeps sweeps that ended at this time or later; null: the age keeps none. */
  readonly endedSince: string | null;
  /** Number of newest sweeps of each series that stay. */
  readonly sweepsOfSeries: number;
  readonly layers: boolean;
  /** False: removes only samples, and layers if `layers` is set. */
  readonly artefacts: boolean;
}

/** `bench compare` always needs the last two. */
export const LEAST_KEPT_SWEEPS = 2;

export interface PrunableSweep {
  readonly sweepId: SweepId;
  readonly startedAt: string | null;
  readonly runs: number;
  readonly sampleBytes: number;
  readonly layerBytes: number;
  readonly folders: number;
}

/**
 * Sweeps to prune, oldest first. Never includes baselines, sweeps of open findings, and, if the age decides, undated
 * ones.
 */
export function prunableSweeps({ $client }: StoreDatabase, rules: KeepRules): PrunableSweep[] {
  const statement = $client.prepare<[object], PrunableSweep>(`
    WITH placed AS (
      SELECT sweep_id, started_at, finished_at,
             row_number() OVER (PARTITION BY git_branch, matrix, provenance, state = 'finished'
                                ORDER BY ${NEWEST_FIRST}) AS place
      FROM sweeps),
    needed(sweep_id) AS (
      SELECT sweep_id FROM baselines
      UNION SELECT last_good_sweep_id FROM findings WHERE state = 'open' AND last_good_sweep_id IS NOT NULL
      UNION SELECT first_bad_sweep_id FROM findings WHERE state = 'open'
      UNION SELECT reported_sweep_id FROM findings WHERE state = 'open')
    SELECT p.sweep_id AS sweepId, p.started_at AS startedAt, count(*) AS runs,
           coalesce(sum(length(s.data)), 0) AS sampleBytes,
           @layers * coalesce(sum(length(l.data)), 0) AS layerBytes,
           @artefacts * sum(r.artefact_folder IS NOT NULL AND NOT coalesce(x.artefacts, 0)) AS folders
    FROM placed p
    JOIN runs r ON r.sweep_id = p.sweep_id
    LEFT JOIN samples s ON s.run_id = r.run_id
    LEFT JOIN layer_profiles l ON l.run_id = r.run_id
    LEFT JOIN pruned_runs x ON x.run_id = r.run_id
    WHERE p.place > @newest AND (@endedSince IS NULL OR coalesce(p.finished_at, p.started_at) < @endedSince)
      AND p.sweep_id NOT IN (SELECT sweep_id FROM needed)
    GROUP BY p.sweep_id
    ORDER BY p.started_at, p.sweep_id`);
  const { artefacts, endedSince, layers, sweepsOfSeries } = rules;
  const newest = Math.max(LEAST_KEPT_SWEEPS, sweepsOfSeries);
  return statement
    .all({ endedSince, newest, layers: Number(layers), artefacts: Number(artefacts) })
    .filter(({ sampleBytes, layerBytes, folders }) => sampleBytes + layerBytes + folders > 0);
}

/**
 * Removes the samples, and layers, of a sweep; records that with the artefacts that are gone.
 * @param keptFolders runs whose artefacts stay
 */
export function pruneSweep(
  { $client }: StoreDatabase,
  sweepId: SweepId,
  { layers }: Pick<KeepRules, 'layers'>,
  keptFolders: ReadonlySet<string>,
  prunedAt: string,
): void {
  const ofSweep = 'run_id IN (SELECT run_id FROM runs WHERE sweep_id = @sweepId)';
  const mark = $client.prepare(`
    INSERT INTO pruned_runs (run_id, pruned_at, samples, layers, artefacts)
    SELECT * FROM (
      SELECT r.run_id, @prunedAt, s.run_id IS NOT NULL AS samples, ${layers ? 'l.run_id IS NOT NULL' : '0'} AS layers,
             r.artefact_folder IS NOT NULL AND r.run_id NOT IN (SELECT value FROM json_each(@kept)) AS artefacts
      FROM runs r
      LEFT JOIN samples s ON s.run_id = r.run_id
      LEFT JOIN layer_profiles l ON l.run_id = r.run_id
      WHERE r.sweep_id = @sweepId)
    WHERE samples OR layers OR artefacts
    ON CONFLICT (run_id) DO UPDATE SET
      samples = max(samples, excluded.samples), layers = max(layers, excluded.layers),
      artefacts = max(artefacts, excluded.artefacts)`);
  $client
    .transaction(() => {
      mark.run({ sweepId, prunedAt, kept: JSON.stringify([...keptFolders]) });
      $client.prepare(`DELETE FROM samples WHERE ${ofSweep}`).run({ sweepId });
      if (layers) $client.prepare(`DELETE FROM layer_profiles WHERE ${ofSweep}`).run({ sweepId });
    })
    .immediate();
}

const ofItsRun = eq(prunedRuns.runId, runs.runId);

export function freeBytes({ $client }: StoreDatabase): number {
  const free = 'SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size';
  return Number($client.prepare(free).pluck().get());
}

/** Returns free space to the disk. This blocks other connections. */
export function vacuum({ $client }: StoreDatabase): void {
  $client.exec('VACUUM');
  $client.pragma('wal_checkpoint(TRUNCATE)');
}

/** The runs of a sweep that have, or had, a folder of artefacts. `isPruned`: the files were pruned. */
export function runFoldersOf(db: StoreDatabase, sweepId: SweepId) {
  const { artefactFolder, runId, startedAt } = runs;
  const all = db.select({ runId, startedAt, pruned: prunedRuns.artefacts }).from(runs).leftJoin(prunedRuns, ofItsRun);
  const rows = all
    .where(and(eq(runs.sweepId, sweepId), isNotNull(artefactFolder)))
    .orderBy(asc(runId))
    .all();
  return rows.map(({ pruned, ...run }) => ({ ...run, isPruned: pruned === true }));
}

/** Questions to the other stores in the same folder, which share the folder of artefacts. Excludes backups. */
export type SiblingStores = ReturnType<typeof siblingStores>;

export function siblingStores(path: string) {
  const names = readdirSync(dirname(path)).filter(
    (name) => /(?<!\.backup)\.sqlite$/.test(name) && name !== basename(path),
  );
  const clients = names.flatMap((name) => openStoreAt(join(dirname(path), name)) ?? []);
  const idsOf = (query: string, sweepId: SweepId): Set<string> =>
    new Set(clients.flatMap((client) => client.prepare<[string], string>(query).pluck().all(sweepId)));
  return {
    runsOf: (sweepId: SweepId) => idsOf('SELECT run_id FROM runs WHERE sweep_id = ?', sweepId),
    hasSweep: (sweepId: SweepId) => idsOf('SELECT sweep_id FROM sweeps WHERE sweep_id = ?', sweepId).size > 0,
    close: () => clients.forEach((client) => client.close()),
  };
}

function openStoreAt(path: string): Database.Database | null {
  let client: Database.Database | null = null;
  try {
    client = openToRead(path);
    if (appliedMigration(client) > 0) return client;
  } catch {
    // Not a store, so it does not refer to artefacts.
  }
  client?.close();
  return null;
}
