import { StoreError } from '../../errors.ts';
import type { StoreDatabase } from '../file/open.ts';
import { CHECKSUM_COLUMN } from '../verify/row-checksums.ts';
import { MERGED_TABLES, shapeOf } from './merged-tables.ts';
import type { SweepId } from '../../records/scalars.ts';

/** @throws StoreError if the sweeps refer to rows that the other store lacks */
export function copySweeps(db: StoreDatabase, sweepIds: readonly SweepId[], added: Map<string, number>): void {
  const { $client } = db;
  $client.exec('DELETE FROM taken_sweeps; DELETE FROM taken_runs; DELETE FROM taken_by_id');
  $client.prepare('INSERT INTO taken_sweeps SELECT value FROM json_each(?)').run(JSON.stringify(sweepIds));
  // Inside the transaction: another process may have stored some of them meanwhile.
  $client.exec(`
    INSERT INTO taken_runs
    SELECT r.run_id FROM taken_sweeps s CROSS JOIN other.runs r ON r.sweep_id = s.sweep_id
    WHERE NOT EXISTS (SELECT 1 FROM main.runs m WHERE m.run_id = r.run_id) ORDER BY r.rowid;
    INSERT INTO taken_by_id SELECT run_id FROM taken_runs`);
  for (const table of MERGED_TABLES.shared) insert(db, table, `other."${table}" o`, added);
  for (const table of MERGED_TABLES.sweep) {
    const from = `taken_sweeps s CROSS JOIN other."${table}" o ON o.sweep_id = s.sweep_id`;
    insert(db, table, from, added);
  }
  for (const table of MERGED_TABLES.run) {
    // Where rows lie in the order of ids, they come in that order: each page is found once, not once for each run.
    const taken = hasNoRowid(db, table) ? 'taken_by_id' : 'taken_runs';
    insert(db, table, `${taken} r CROSS JOIN other."${table}" o ON o.run_id = r.run_id`, added);
  }
  refuseBroken(db);
}

function hasNoRowid({ $client }: StoreDatabase, table: string): boolean {
  const isIt = $client.prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?").pluck();
  return isIt.get(table) === 1;
}

/** What rows of a sweep or of a run refer to besides that sweep or run: column, and the table that has it as its key. */
const REFERENCES = [
  ['taken_runs', 'runs', 'cell_key', 'cells'],
  ['taken_runs', 'runs', 'environment_id', 'environments'],
  ['taken_runs', 'runs', 'invocation_id', 'invocations'],
  ['taken_sweeps', 'sweep_cells', 'cell_key', 'cells'],
] as const;

function refuseBroken({ $client }: StoreDatabase): void {
  for (const [taken, table, column, target] of REFERENCES) {
    const id = taken === 'taken_runs' ? 'run_id' : 'sweep_id';
    const broken: unknown = $client
      .prepare(
        `SELECT count(*) FROM ${taken} t CROSS JOIN main.${table} r ON r.${id} = t.${id}
         WHERE r.${column} IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM main.${target} x WHERE x.${column} = r.${column})`,
      )
      .pluck()
      .get();
    if (Number(broken) > 0) {
      throw new StoreError(
        `the other store is damaged: ${Number(broken)} rows of ${table} refer to ${target} that it lacks; \`bench db verify\` says more of it`,
      );
    }
  }
}

/** @param column of the other store's row, if it has another name than the key */
function isHere(table: string, key: string, column = key): string {
  return `EXISTS (SELECT 1 FROM main.${table} x WHERE x.${key} = o."${column}")`;
}

/** Statements of users and of the gate: existing names and ids are kept. */
export function mergeAnnotations(db: StoreDatabase, added: Map<string, number>): void {
  insert(db, 'accuracy', 'other.accuracy o', added, {
    '"sweep_id"': `(SELECT s.sweep_id FROM main.sweeps s WHERE s.sweep_id = o.sweep_id)`,
    [`"${CHECKSUM_COLUMN}"`]: 'NULL',
  });
  const sweepIsHere = isHere('sweeps', 'sweep_id');
  const findingIsHere = isHere('findings', 'finding_id');
  const reported = ['first_bad_sweep_id', 'reported_sweep_id'].map((column) => isHere('sweeps', 'sweep_id', column));
  // In this order: a row comes after those that it refers to.
  const wanted = {
    attachments: isHere('runs', 'run_id'),
    baselines: sweepIsHere,
    findings: reported.join(' AND '),
    finding_cells: `${findingIsHere} AND ${isHere('cells', 'cell_key')}`,
    acknowledgements: findingIsHere,
    judged_sweeps: sweepIsHere,
  };
  for (const [table, where] of Object.entries(wanted)) insert(db, table, `other.${table} o WHERE ${where}`, added);
}

function progressOf(side: string): string {
  return `CASE ${side}.state WHEN 'finished' THEN 2 WHEN 'interrupted' THEN 1 ELSE 0 END`;
}

/** Finishes sweeps interrupted here and completed there; an import spans the runs of both. Returns their ids. */
export function updateSweeps({ $client }: StoreDatabase): string[] {
  const ended = $client
    .prepare<[], string>(
      `UPDATE main.sweeps AS m SET state = o.state, finished_at = o.finished_at, plan = coalesce(o.plan, m.plan)
       FROM other.sweeps o
       WHERE o.sweep_id = m.sweep_id AND m.source = 'run' AND ${progressOf('o')} > ${progressOf('m')}
       RETURNING sweep_id`,
    )
    .pluck()
    .all();
  const earlier = 'coalesce(min(m.started_at, o.started_at), m.started_at, o.started_at)';
  const later = 'coalesce(max(m.finished_at, o.finished_at), m.finished_at, o.finished_at)';
  const spanned = $client
    .prepare<[], string>(
      `UPDATE main.sweeps AS m SET started_at = ${earlier}, finished_at = ${later}
       FROM other.sweeps o
       WHERE o.sweep_id = m.sweep_id AND m.source = 'import'
         AND (m.started_at IS NOT ${earlier} OR m.finished_at IS NOT ${later})
       RETURNING sweep_id`,
    )
    .pluck()
    .all();
  return [...ended, ...spanned];
}

/** @param instead expressions for columns that are not copied unchanged */
function insert(
  db: StoreDatabase,
  table: string,
  from: string,
  added: Map<string, number>,
  instead: Readonly<Record<string, string>> = {},
): void {
  const { keys, values } = shapeOf(db, table);
  const columns = [...keys, ...values];
  const expressions = columns.map((column) => instead[column] ?? `o.${column}`);
  const { changes } = db.$client
    .prepare(
      `INSERT OR IGNORE INTO main."${table}" (${columns.join(', ')}) SELECT ${expressions.join(', ')} FROM ${from}`,
    )
    .run();
  added.set(table, (added.get(table) ?? 0) + changes);
}
