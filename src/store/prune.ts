import { and, asc, eq, isNotNull } from 'drizzle-orm';

import type { StoreDatabase } from './file/open.ts';
import { prunedRuns, runs } from './schema.ts';
import { newestFirstSql } from './sweeps/sweep-order.ts';

/** What may go: a sweep stays when any of these keeps it. */
export interface KeepRules {
  /** Sweeps that ended at this instant or later stay; null: age keeps nothing. */
  readonly endedSince: string | null;
  /** This many of the newest sweeps of each series stay. */
  readonly sweepsOfSeries: number;
  /** Whether layer profiles go as well. */
  readonly layers: boolean;
}

/** `bench compare` needs the last two in any case. */
export const LEAST_KEPT_SWEEPS = 2;

/** What a sweep has that could go. */
export interface PrunableSweep {
  readonly sweepId: string;
  readonly startedAt: string | null;
  readonly name: string | null;
  readonly runs: number;
  readonly sampleBytes: number;
  readonly layerBytes: number;
  /** Runs whose folder of artefacts is not pruned yet. */
  readonly folders: number;
}

/**
 * Sweeps that no rule keeps and that have something to lose, the oldest first. Those that a baseline or an open finding
 * names stay, and those without a date where age decides.
 */
export function prunableSweeps({ $client }: StoreDatabase, rules: KeepRules): PrunableSweep[] {
  const statement = $client.prepare<[number, string | null, string | null], PrunableSweep>(`
    WITH placed AS (
      SELECT sweep_id, started_at, finished_at, coalesce(matrix, name) AS name,
             row_number() OVER (PARTITION BY git_branch, matrix, provenance, state = 'finished'
                                ORDER BY ${newestFirstSql('sweeps')}) AS place
      FROM sweeps),
    needed(sweep_id) AS (
      SELECT sweep_id FROM baselines
      UNION SELECT last_good_sweep_id FROM findings WHERE state IN ('new', 'open') AND last_good_sweep_id IS NOT NULL
      UNION SELECT first_bad_sweep_id FROM findings WHERE state IN ('new', 'open')
      UNION SELECT told_sweep_id FROM findings WHERE state IN ('new', 'open'))
    SELECT p.sweep_id AS sweepId, p.started_at AS startedAt, p.name,
           count(*) AS runs,
           coalesce(sum(length(s.data)), 0) AS sampleBytes,
           coalesce(sum(length(l.data)), 0) AS layerBytes,
           sum(r.artefact_folder IS NOT NULL AND NOT coalesce(x.artefacts, 0)) AS folders
    FROM placed p
    JOIN runs r ON r.sweep_id = p.sweep_id
    LEFT JOIN samples s ON s.run_id = r.run_id
    LEFT JOIN layer_profiles l ON l.run_id = r.run_id
    LEFT JOIN pruned_runs x ON x.run_id = r.run_id
    WHERE p.place > ? AND (? IS NULL OR coalesce(p.finished_at, p.started_at) < ?)
      AND p.sweep_id NOT IN (SELECT sweep_id FROM needed)
    GROUP BY p.sweep_id
    ORDER BY p.started_at, p.sweep_id`);
  return statement
    .all(Math.max(LEAST_KEPT_SWEEPS, rules.sweepsOfSeries), rules.endedSince, rules.endedSince)
    .map((sweep) => (rules.layers ? sweep : { ...sweep, layerBytes: 0 }))
    .filter(({ sampleBytes, layerBytes, folders }) => sampleBytes > 0 || layerBytes > 0 || folders > 0);
}

/**
 * Takes the samples of a sweep's runs away, and writes down that they and the artefacts are gone. The folders go after
 * that: those that a kill leaves are known to be of no use.
 * @param keptFolders runs of which the artefacts stay
 */
export function pruneSweep(
  { $client }: StoreDatabase,
  sweepId: string,
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

/** Runs of which the artefacts are gone on purpose, by their sweep. */
export function prunedFolders({ $client }: StoreDatabase): Map<string, string[]> {
  const rows = $client
    .prepare<[], { sweepId: string; runId: string }>(
      `SELECT r.sweep_id AS sweepId, p.run_id AS runId
       FROM pruned_runs p JOIN runs r ON r.run_id = p.run_id WHERE p.artefacts ORDER BY p.run_id`,
    )
    .all();
  const bySweep = Map.groupBy(rows, ({ sweepId }) => sweepId);
  return new Map([...bySweep].map(([sweepId, own]) => [sweepId, own.map(({ runId }) => runId)]));
}

/** From so much free space in the file on, and such a share of it, it pays to write the file anew. */
const PAYS_BYTES = 64 << 20;
const PAYS_SHARE = 0.25;

export function freeBytes({ $client }: StoreDatabase): number {
  return pragmaNumber($client, 'freelist_count') * pragmaNumber($client, 'page_size');
}

export function vacuumPays(db: StoreDatabase): boolean {
  const all = pragmaNumber(db.$client, 'page_count') * pragmaNumber(db.$client, 'page_size');
  return freeBytes(db) >= Math.max(PAYS_BYTES, PAYS_SHARE * all);
}

/** Gives free space back to the disk. Others wait meanwhile. */
export function vacuum({ $client }: StoreDatabase): void {
  $client.exec('VACUUM');
  $client.pragma('wal_checkpoint(TRUNCATE)');
}

function pragmaNumber($client: StoreDatabase['$client'], name: string): number {
  return Number($client.pragma(name, { simple: true }));
}

/** What `bench db prune` took from a run; null when it took nothing. */
export function prunedFrom(db: StoreDatabase, runId: string): typeof prunedRuns.$inferSelect | null {
  return db.select().from(prunedRuns).where(eq(prunedRuns.runId, runId)).get() ?? null;
}

/** The runs of a sweep that have, or had, a folder of artefacts; `isPruned` where its files went on purpose. */
export function runFoldersOf(db: StoreDatabase, sweepId: string) {
  return db
    .select({ runId: runs.runId, startedAt: runs.startedAt, pruned: prunedRuns.artefacts })
    .from(runs)
    .leftJoin(prunedRuns, eq(prunedRuns.runId, runs.runId))
    .where(and(eq(runs.sweepId, sweepId), isNotNull(runs.artefactFolder)))
    .orderBy(asc(runs.runId))
    .all()
    .map(({ pruned, ...run }) => ({ ...run, isPruned: pruned === true }));
}
