import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

import { type StoreMerge, mergedRows } from './report.ts';
import type { StoreDatabase } from '../file/open.ts';
import { findConflicts } from './conflicts.ts';
import { refuseNames } from './merged-tables.ts';
import { mergeAnnotations, copySweeps, updateSweeps } from './merge-rows.ts';
import type { SweepId } from '../../records/scalars.ts';

/** Whole sweeps with this many runs go in one transaction: other writers wait for some two seconds. */
const RUNS_AT_ONCE = 50_000;
/** SQLite polls a lock every 100 ms; without a pause between transactions others might never get it. */
const PAUSE_MS = 110;
/** Ids are random: pages that do not fit are read and written repeatedly. */
const CACHE_KIB = 256 << 10;

export interface MergeProgress {
  readonly runs: number;
  readonly of: number;
}

interface OtherSweep {
  readonly sweepId: SweepId;
  readonly isHere: number;
  readonly newRuns: number;
}

/**
 * Merges another store into this one. After a kill there are only whole sweeps; merging again adds the rest. Common
 * rows stay unchanged, except for a sweep that progressed further there.
 * @param otherPath a store with the schema of this one
 */
export async function mergeStore(
  db: StoreDatabase,
  otherPath: string,
  onProgress: (progress: MergeProgress) => void,
  signal: AbortSignal,
  runsAtOnce: number = RUNS_AT_ONCE,
): Promise<StoreMerge> {
  const { $client } = db;
  $client.prepare('ATTACH ? AS other').run(otherPath);
  // References within the merged rows hold, and the others are checked: a quarter less time.
  $client.pragma('foreign_keys = OFF');
  try {
    refuseNames(db);
    for (const name of ['main', 'other']) $client.pragma(`${name}.cache_size = -${CACHE_KIB}`);
    $client.exec(`
      CREATE TEMP TABLE common_runs AS
        SELECT o.run_id FROM other.runs o JOIN main.runs m ON m.run_id = o.run_id;
      CREATE TEMP TABLE taken_sweeps (sweep_id TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE TEMP TABLE taken_runs (run_id TEXT);
      CREATE TEMP TABLE taken_by_id (run_id TEXT PRIMARY KEY) WITHOUT ROWID`);
    return await mergeAttached(db, onProgress, signal, runsAtOnce);
  } finally {
    for (const table of ['common_runs', 'taken_sweeps', 'taken_runs', 'taken_by_id']) {
      $client.exec(`DROP TABLE IF EXISTS temp.${table}`);
    }
    $client.exec('DETACH other');
    $client.pragma('foreign_keys = ON');
    $client.pragma('wal_checkpoint(TRUNCATE)');
  }
}

async function mergeAttached(
  db: StoreDatabase,
  onProgress: (progress: MergeProgress) => void,
  signal: AbortSignal,
  runsAtOnce: number,
): Promise<StoreMerge> {
  const conflicts = findConflicts(db);
  const sweeps = otherSweeps(db);
  const of = sweeps.reduce((sum, { newRuns }) => sum + newRuns, 0);
  const added = new Map<string, number>();
  let runs = 0;
  for (const batch of batchesOf(sweeps, runsAtOnce)) {
    await (runs > 0 ? pause(PAUSE_MS) : nextTurn());
    signal.throwIfAborted();
    const sweepIds = batch.map(({ sweepId }) => sweepId);
    inTransaction(db, () => copySweeps(db, sweepIds, added));
    runs += batch.reduce((sum, { newRuns }) => sum + newRuns, 0);
    onProgress({ runs, of });
  }
  await nextTurn();
  signal.throwIfAborted();
  const updatedSweepIds = inTransaction(db, () => {
    mergeAnnotations(db, added);
    return updateSweeps(db);
  });
  const tables = Object.keys(mergedRows.shape);
  const common: unknown = db.$client.prepare('SELECT count(*) FROM common_runs').pluck().get();
  return {
    added: mergedRows.parse(Object.fromEntries(tables.map((table) => [table, added.get(table) ?? 0]))),
    alreadyThere: { sweeps: sweeps.filter(({ isHere }) => isHere === 1).length, runs: Number(common) },
    sweepIds: sweeps.map(({ sweepId }) => sweepId),
    updatedSweepIds,
    conflicts,
  };
}

/** Omits an import whose runs are all here under other names: its sweep would be empty. */
function otherSweeps({ $client }: StoreDatabase): OtherSweep[] {
  return $client
    .prepare<[], OtherSweep>(
      `WITH new AS (
         SELECT sweep_id, count(*) AS runs FROM other.runs o
         WHERE NOT EXISTS (SELECT 1 FROM main.runs m WHERE m.run_id = o.run_id) GROUP BY sweep_id)
       SELECT s.sweep_id AS sweepId, m.sweep_id IS NOT NULL AS isHere, coalesce(new.runs, 0) AS newRuns
       FROM other.sweeps s LEFT JOIN main.sweeps m ON m.sweep_id = s.sweep_id
       LEFT JOIN new ON new.sweep_id = s.sweep_id
       WHERE s.source = 'run' OR new.runs > 0 OR m.sweep_id IS NOT NULL
       ORDER BY s.started_at, s.sweep_id`,
    )
    .all();
}

function batchesOf(sweeps: readonly OtherSweep[], runsAtOnce: number): OtherSweep[][] {
  const batches: OtherSweep[][] = [];
  let runs = Infinity;
  for (const sweep of sweeps) {
    if (runs >= runsAtOnce) {
      batches.push([]);
      runs = 0;
    }
    batches.at(-1)?.push(sweep);
    runs += sweep.newRuns;
  }
  return batches;
}

/** A write first: `BEGIN IMMEDIATE` would lock the other store for writing as well. */
function inTransaction<Result>({ $client }: StoreDatabase, work: () => Result): Result {
  $client.exec('BEGIN');
  try {
    $client.exec('DELETE FROM main.sweeps WHERE 0');
    const result = work();
    $client.exec('COMMIT');
    return result;
  } catch (error) {
    if ($client.inTransaction) $client.exec('ROLLBACK');
    throw error;
  }
}
