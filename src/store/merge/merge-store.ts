import { setImmediate as nextTurn } from 'node:timers/promises';

import * as z from 'zod';

import { StoreError } from '../../errors.ts';
import { count } from '../../records/output-parts.ts';
import type { SweepId } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';
import type { StoreDatabase } from '../file/open.ts';
import { brokenReferences, findConflicts, MERGED_TABLES, shapeOf } from './tables.ts';
import { nameProblem } from '../../files/attachments.ts';

export const mergedRows = z.strictObject({
  sweeps: count,
  runs: count,
  cells: count,
  environments: count,
  builds: count,
  accuracy: count,
  baselines: count,
  findings: count,
  acknowledgements: count,
});

export type StoreMerge = Awaited<ReturnType<typeof mergeAttached>>;

/** Large, because IDs are random and pages that do not fit are read and written repeatedly. */
const CACHE_KIB = 256 << 10;

/**
 * Merges another store into this one in one transaction. Common rows stay unchanged, except for a sweep that progressed
 * further there.
 * @param otherPath a store with the schema of this one
 * @throws StoreError if it has IDs or names that bench never makes, or broken references
 */
export async function mergeStore({ $client }: StoreDatabase, otherPath: string, signal: AbortSignal) {
  $client.prepare('ATTACH ? AS other').run(otherPath);
  // References within the merged rows were already checked; this saves a quarter of the time.
  $client.pragma('foreign_keys = OFF');
  try {
    refuseDamaged($client);
    for (const name of ['main', 'other']) $client.pragma(`${name}.cache_size = -${CACHE_KIB}`);
    // Start with a write, because `BEGIN IMMEDIATE` would also lock the other store for writing.
    $client.exec('BEGIN; DELETE FROM main.sweeps WHERE 0');
    const merged = await mergeAttached($client, signal);
    $client.exec('COMMIT');
    return merged;
  } finally {
    if ($client.inTransaction) $client.exec('ROLLBACK');
    for (const table of ['common_runs', 'taken_sweeps']) $client.exec(`DROP TABLE IF EXISTS temp.${table}`);
    $client.exec('DETACH other');
    $client.pragma('foreign_keys = ON');
    $client.pragma('wal_checkpoint(TRUNCATE)');
  }
}

type Client = StoreDatabase['$client'];

function ofTaken(table: string): string {
  return `taken_sweeps s CROSS JOIN other."${table}" o ON o.sweep_id = s.sweep_id`;
}

/** Only rows of new runs, so that pruned data does not return. */
function ofNewRuns(table: string): string {
  return `taken_sweeps s CROSS JOIN other.runs r ON r.sweep_id = s.sweep_id CROSS JOIN other."${table}" o ON o.run_id = r.run_id
    WHERE r.run_id NOT IN (SELECT run_id FROM common_runs)`;
}

async function mergeAttached(client: Client, signal: AbortSignal) {
  // Leaves out an import whose runs are all here under other names, because its sweep would be empty.
  client.exec(`
    CREATE TEMP TABLE common_runs AS SELECT o.run_id FROM other.runs o JOIN main.runs m ON m.run_id = o.run_id;
    CREATE UNIQUE INDEX temp.common_runs_by_id ON common_runs (run_id);
    CREATE TEMP TABLE taken_sweeps AS
    SELECT s.sweep_id, EXISTS (SELECT 1 FROM main.sweeps m WHERE m.sweep_id = s.sweep_id) AS was_here
    FROM other.sweeps s WHERE s.source = 'run' OR was_here
      OR EXISTS (SELECT 1 FROM other.runs o WHERE o.sweep_id = s.sweep_id AND o.run_id NOT IN (SELECT run_id FROM common_runs))
    ORDER BY s.started_at, s.sweep_id`);
  const conflicts = findConflicts(client);
  const sources: readonly (readonly [table: string, from: string])[] = [
    ...MERGED_TABLES.shared.map((table) => [table, `other."${table}" o`] as const),
    ...[...MERGED_TABLES.sweep, 'runs'].map((table) => [table, ofTaken(table)] as const),
    ...MERGED_TABLES.run.slice(1).map((table) => [table, ofNewRuns(table)] as const),
    ...Object.entries(ANNOTATIONS),
  ];
  const added = new Map<string, number>();
  for (const [table, from] of sources) {
    await nextTurn();
    signal.throwIfAborted();
    added.set(table, insert(client, table, from));
  }
  const taken = 'SELECT sweep_id AS sweepId, was_here AS wasHere FROM taken_sweeps';
  const sweeps = client.prepare<[], { sweepId: SweepId; wasHere: number }>(taken).all();
  return {
    added: z.object(mergedRows.shape).parse(Object.fromEntries(added)),
    alreadyThere: {
      sweeps: sweeps.filter(({ wasHere }) => wasHere === 1).length,
      runs: Number(client.prepare('SELECT count(*) FROM common_runs').pluck().get()),
    },
    sweepIds: sweeps.map(({ sweepId }) => sweepId),
    /** Sweeps that had progressed further in the other store. */
    updatedSweepIds: updateSweeps(client),
    conflicts,
  };
}

/** @param column column in the other store, if its name differs from the key */
function isHere(table: string, key: string, column = key): string {
  return `EXISTS (SELECT 1 FROM main.${table} x WHERE x.${key} = o."${column}")`;
}

const FINDING_IS_HERE = isHere('findings', 'finding_id');

/** Statements of users and of the gate whose subjects are in this store. Existing names and IDs stay. */
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

/** @returns the number of inserted rows */
function insert(client: Client, table: string, from: string): number {
  const { keys, values } = shapeOf(client, table);
  const columns = [...keys, ...values];
  const ofOther = columns.map((column) =>
    // The sweep of the measurement; null if this store lacks it, because an import without new runs is not merged.
    table === 'accuracy' && column === '"sweep_id"'
      ? '(SELECT s.sweep_id FROM main.sweeps s WHERE s.sweep_id = o.sweep_id)'
      : `o.${column}`,
  );
  return client
    .prepare(`INSERT OR IGNORE INTO main."${table}" (${columns.join(', ')}) SELECT ${ofOther.join(', ')} FROM ${from}`)
    .run().changes;
}

/** Progress of a sweep: 2 finished, 1 interrupted. */
function progress(side: string): string {
  return `CASE ${side}.state WHEN 'finished' THEN 2 WHEN 'interrupted' THEN 1 ELSE 0 END`;
}

/**
 * Finishes sweeps that were interrupted here and completed there. An import spans the runs of both. Returns the IDs of
 * the changed sweeps.
 */
function updateSweeps(client: Client): string[] {
  const earlier = 'coalesce(min(m.started_at, o.started_at), m.started_at, o.started_at)';
  const later = 'coalesce(max(m.finished_at, o.finished_at), m.finished_at, o.finished_at)';
  return [
    `SET state = o.state, finished_at = o.finished_at, plan = coalesce(o.plan, m.plan) FROM other.sweeps o
     WHERE o.sweep_id = m.sweep_id AND m.source = 'run' AND ${progress('o')} > ${progress('m')}`,
    `SET started_at = ${earlier}, finished_at = ${later} FROM other.sweeps o
     WHERE o.sweep_id = m.sweep_id AND m.source = 'import'
       AND (m.started_at IS NOT ${earlier} OR m.finished_at IS NOT ${later})`,
  ].flatMap((change) =>
    client.prepare<[], string>(`UPDATE main.sweeps AS m ${change} RETURNING sweep_id`).pluck().all(),
  );
}

/** Tables whose rows are checked. Rows of a run are selected by its ID, which is checked in `runs`. */
const CHECKED_TABLES = [...MERGED_TABLES.shared, ...MERGED_TABLES.sweep, 'runs', ...MERGED_TABLES.annotations];
/** IDs become parts of paths and are printed. */
const ID_COLUMN = /_(?:id|key)"$/;

function refuseDamaged(client: Client): void {
  for (const table of CHECKED_TABLES) {
    const { keys, values } = shapeOf(client, table);
    for (const column of [...keys, ...values].filter((name) => ID_COLUMN.test(name))) {
      const isNoId = `typeof(${column}) <> 'text' OR length(${column}) <> 32 OR ${column} GLOB '*[^0-9a-f]*'`;
      const found: unknown = client
        .prepare(`SELECT ${column} FROM other."${table}" WHERE ${column} IS NOT NULL AND (${isNoId}) LIMIT 1`)
        .pluck()
        .get();
      if (found !== undefined) refuse(`${table}.${column.slice(1, -1)}`, String(found), 'is not an id');
    }
  }
  for (const name of client.prepare('SELECT DISTINCT name FROM other.attachments').pluck().iterate()) {
    const problem = nameProblem(String(name));
    if (problem !== null) refuse('attachments.name', String(name), problem);
  }
  for (const { table, parent, rows } of brokenReferences(client, 'other')) {
    throw new StoreError(
      `the other store is damaged: ${rows} rows of ${table} refer to ${parent} that it lacks; \`bench db verify\` shows the details`,
    );
  }
}

function refuse(where: string, text: string, problem: string): never {
  throw new StoreError(
    `the other store was not written by bench: ${where} ${printable(text.slice(0, 80))}: ${problem}; nothing was merged`,
  );
}
