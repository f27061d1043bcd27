import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

import type { SweepId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../file/open.ts';
import { findConflicts } from './differences.ts';
import { type StoreMerge, mergedRows } from './report.ts';
import { MERGED_TABLES, refuseDamaged, shapeOf } from './tables.ts';

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
  readonly wasHere: number;
  readonly newRuns: number;
}

/**
 * Merges another store into this one. After a kill there are only whole sweeps; merging again adds the rest. Common
 * rows stay unchanged, except for a sweep that progressed further there.
 * @param otherPath a store with the schema of this one
 */
export async function mergeStore(
  { $client }: StoreDatabase,
  otherPath: string,
  onProgress: (progress: MergeProgress) => void,
  signal: AbortSignal,
  runsAtOnce: number = RUNS_AT_ONCE,
): Promise<StoreMerge> {
  $client.prepare('ATTACH ? AS other').run(otherPath);
  // References within the merged rows were checked: a quarter less time.
  $client.pragma('foreign_keys = OFF');
  try {
    refuseDamaged($client);
    for (const name of ['main', 'other']) $client.pragma(`${name}.cache_size = -${CACHE_KIB}`);
    $client.exec(`
      CREATE TEMP TABLE common_runs AS SELECT o.run_id FROM other.runs o JOIN main.runs m ON m.run_id = o.run_id;
      CREATE TEMP TABLE taken_sweeps (sweep_id TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE TEMP TABLE taken_runs (run_id TEXT)`);
    return await mergeAttached($client, onProgress, signal, runsAtOnce);
  } finally {
    for (const table of ['common_runs', 'taken_sweeps', 'taken_runs']) {
      $client.exec(`DROP TABLE IF EXISTS temp.${table}`);
    }
    $client.exec('DETACH other');
    $client.pragma('foreign_keys = ON');
    $client.pragma('wal_checkpoint(TRUNCATE)');
  }
}

type Client = StoreDatabase['$client'];

async function mergeAttached(
  client: Client,
  onProgress: (progress: MergeProgress) => void,
  signal: AbortSignal,
  runsAtOnce: number,
): Promise<StoreMerge> {
  const conflicts = findConflicts(client);
  const sweeps = otherSweeps(client);
  const of = sweeps.reduce((sum, { newRuns }) => sum + newRuns, 0);
  const added = new Map<string, number>();
  let runs = 0;
  for (const batch of batchesOf(sweeps, runsAtOnce)) {
    await (runs > 0 ? pause(PAUSE_MS) : nextTurn());
    signal.throwIfAborted();
    inTransaction(client, () => copySweeps(client, batch, added));
    runs += batch.reduce((sum, { newRuns }) => sum + newRuns, 0);
    onProgress({ runs, of });
  }
  await nextTurn();
  signal.throwIfAborted();
  const updatedSweepIds = inTransaction(client, () => {
    for (const table of MERGED_TABLES.annotations) insert(client, table, ANNOTATIONS[table], added);
    return updateSweeps(client);
  });
  const tables = Object.keys(mergedRows.shape);
  const common: unknown = client.prepare('SELECT count(*) FROM common_runs').pluck().get();
  return {
    added: mergedRows.parse(Object.fromEntries(tables.map((table) => [table, added.get(table) ?? 0]))),
    alreadyThere: { sweeps: sweeps.filter(({ wasHere }) => wasHere === 1).length, runs: Number(common) },
    sweepIds: sweeps.map(({ sweepId }) => sweepId),
    updatedSweepIds,
    conflicts,
  };
}

/** Omits an import whose runs are all here under other names: its sweep would be empty. */
function otherSweeps(client: Client): OtherSweep[] {
  return client
    .prepare<[], OtherSweep>(
      `WITH new AS (
         SELECT sweep_id, count(*) AS runs FROM other.runs o
         WHERE NOT EXISTS (SELECT 1 FROM main.runs m WHERE m.run_id = o.run_id) GROUP BY sweep_id)
       SELECT s.sweep_id AS sweepId, m.sweep_id IS NOT NULL AS wasHere, coalesce(new.runs, 0) AS newRuns
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
function inTransaction<Result>(client: Client, work: () => Result): Result {
  return client.transaction(() => {
    client.exec('DELETE FROM main.sweeps WHERE 0');
    return work();
  })();
}

function copySweeps(client: Client, batch: readonly OtherSweep[], added: Map<string, number>): void {
  client.exec('DELETE FROM taken_sweeps; DELETE FROM taken_runs');
  const ids = batch.map(({ sweepId }) => sweepId);
  client.prepare('INSERT INTO taken_sweeps SELECT value FROM json_each(?)').run(JSON.stringify(ids));
  // Inside the transaction: another process may have stored some of them meanwhile.
  client.exec(`
    INSERT INTO taken_runs
    SELECT r.run_id FROM taken_sweeps s CROSS JOIN other.runs r ON r.sweep_id = s.sweep_id
    WHERE NOT EXISTS (SELECT 1 FROM main.runs m WHERE m.run_id = r.run_id) ORDER BY r.rowid`);
  for (const table of MERGED_TABLES.shared) insert(client, table, `other."${table}" o`, added);
  for (const table of MERGED_TABLES.sweep) {
    insert(client, table, `taken_sweeps s CROSS JOIN other."${table}" o ON o.sweep_id = s.sweep_id`, added);
  }
  for (const table of MERGED_TABLES.run) {
    insert(client, table, `taken_runs r CROSS JOIN other."${table}" o ON o.run_id = r.run_id`, added);
  }
}

/** @param column of the other store's row, if it has another name than the key */
function isHere(table: string, key: string, column = key): string {
  return `EXISTS (SELECT 1 FROM main.${table} x WHERE x.${key} = o."${column}")`;
}

const FINDING_IS_HERE = isHere('findings', 'finding_id');

/** Statements of users and of the gate, where what they speak of is here: existing names and ids are kept. */
const ANNOTATIONS: Readonly<Record<(typeof MERGED_TABLES.annotations)[number], string>> = {
  accuracy: 'other.accuracy o',
  attachments: `other.attachments o WHERE ${isHere('runs', 'run_id')}`,
  baselines: `other.baselines o WHERE ${isHere('sweeps', 'sweep_id')}`,
  findings: `other.findings o WHERE ${isHere('sweeps', 'sweep_id', 'first_bad_sweep_id')}
    AND ${isHere('sweeps', 'sweep_id', 'reported_sweep_id')}`,
  finding_cells: `other.finding_cells o WHERE ${FINDING_IS_HERE} AND ${isHere('cells', 'cell_key')}`,
  acknowledgements: `other.acknowledgements o WHERE ${FINDING_IS_HERE}`,
  judged_sweeps: `other.judged_sweeps o WHERE ${isHere('sweeps', 'sweep_id')}`,
};

function insert(client: Client, table: string, from: string, added: Map<string, number>): void {
  const { keys, values } = shapeOf(client, table);
  const columns = [...keys, ...values];
  const ofOther = columns.map((column) =>
    // Of the sweep that it was measured with, which an import without new runs does not bring.
    table === 'accuracy' && column === '"sweep_id"'
      ? '(SELECT s.sweep_id FROM main.sweeps s WHERE s.sweep_id = o.sweep_id)'
      : `o.${column}`,
  );
  const { changes } = client
    .prepare(`INSERT OR IGNORE INTO main."${table}" (${columns.join(', ')}) SELECT ${ofOther.join(', ')} FROM ${from}`)
    .run();
  added.set(table, (added.get(table) ?? 0) + changes);
}

function progressOf(side: string): string {
  return `CASE ${side}.state WHEN 'finished' THEN 2 WHEN 'interrupted' THEN 1 ELSE 0 END`;
}

/** Finishes sweeps interrupted here and completed there; an import spans the runs of both. Returns their ids. */
function updateSweeps(client: Client): string[] {
  const earlier = 'coalesce(min(m.started_at, o.started_at), m.started_at, o.started_at)';
  const later = 'coalesce(max(m.finished_at, o.finished_at), m.finished_at, o.finished_at)';
  return [
    `SET state = o.state, finished_at = o.finished_at, plan = coalesce(o.plan, m.plan) FROM other.sweeps o
     WHERE o.sweep_id = m.sweep_id AND m.source = 'run' AND ${progressOf('o')} > ${progressOf('m')}`,
    `SET started_at = ${earlier}, finished_at = ${later} FROM other.sweeps o
     WHERE o.sweep_id = m.sweep_id AND m.source = 'import'
       AND (m.started_at IS NOT ${earlier} OR m.finished_at IS NOT ${later})`,
  ].flatMap((change) =>
    client.prepare<[], string>(`UPDATE main.sweeps AS m ${change} RETURNING sweep_id`).pluck().all(),
  );
}
