import type Database from 'better-sqlite3';

import { nameProblem } from '../../artefacts/attachment.ts';
import { StoreError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';

/**
 * How the rows of each table come from another store. A test holds this list and the schema together.
 * - `shared`: rows that many runs use, under a hash of their content
 * - `sweep`: rows of a sweep
 * - `run`: rows of a run, the one that the others refer to first
 * - `annotations`: what people and the nightly gate said, on top of results; each after those that it refers to
 */
export const MERGED_TABLES = {
  shared: ['environments', 'cells', 'invocations', 'builds'],
  sweep: ['sweeps', 'sweep_imports', 'sweep_cells', 'attempts'],
  run: [
    'runs',
    'measurements',
    'time_statistics',
    'run_methods',
    'run_values',
    'samples',
    'layer_profiles',
    'run_telemetry',
    'run_flags',
    'run_hints',
    'run_evidence',
    'artefacts',
    'pruned_runs',
  ],
  annotations: [
    'accuracy',
    'attachments',
    'baselines',
    'findings',
    'finding_cells',
    'acknowledgements',
    'judged_sweeps',
  ],
} as const;

/** Columns of a table, quoted. */
export function shapeOf(client: Database.Database, table: string) {
  const rows = client
    .prepare<[string], { name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)')
    .all(table);
  const named = (isKey: boolean): string[] => rows.filter(({ pk }) => pk > 0 === isKey).map(({ name }) => `"${name}"`);
  return { keys: named(true), values: named(false) };
}

/** Rows of a run are selected by its id: that of `runs` is checked for all of them. */
const CHECKED_TABLES = [...MERGED_TABLES.shared, ...MERGED_TABLES.sweep, 'runs', ...MERGED_TABLES.annotations];
/** Ids become part of paths, and are printed. */
const ID_COLUMN = /_(?:id|key)"$/;

/** @throws StoreError if the store `other` has ids or names that bench never makes, or rows that refer to none */
export function refuseDamaged(client: Database.Database): void {
  for (const table of CHECKED_TABLES) {
    const { keys, values } = shapeOf(client, table);
    for (const column of [...keys, ...values].filter((name) => ID_COLUMN.test(name))) {
      const isNoId = `typeof(${column}) <> 'text' OR length(${column}) <> 32 OR ${column} GLOB '*[^0-9a-f]*'`;
      const found: unknown = client
        .prepare(`SELECT ${column} FROM other."${table}" WHERE ${column} IS NOT NULL AND (${isNoId}) LIMIT 1`)
        .pluck()
        .get();
      if (found !== undefined) refuse(`${table}.${column.slice(1, -1)}`, String(found), 'is no id');
    }
  }
  const names = client.prepare('SELECT DISTINCT name FROM other.attachments').pluck();
  for (const name of names.iterate()) {
    const problem = nameProblem(String(name));
    if (problem !== null) refuse('attachments.name', String(name), problem);
  }
  const broken = client
    .prepare<[], { table: string; parent: string; rows: number }>(
      `SELECT "table", parent, count(*) AS rows FROM pragma_foreign_key_check(NULL, 'other') GROUP BY "table", parent`,
    )
    .get();
  if (broken === undefined) return;
  const { table, parent, rows } = broken;
  throw new StoreError(
    `the other store is damaged: ${rows} rows of ${table} refer to ${parent} that it lacks; \`bench db verify\` says more of it`,
  );
}

function refuse(where: string, text: string, problem: string): never {
  throw new StoreError(
    `the other store was not written by bench: ${where} ${printable(text.slice(0, 80))}: ${problem}; nothing was merged`,
  );
}
