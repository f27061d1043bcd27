import type Database from 'better-sqlite3';
import * as z from 'zod';

import { count } from '../../records/output-parts.ts';

/**
 * How the rows of each table are merged. A test keeps this list in sync with the schema.
 * - `shared`: rows that many runs use, by the hash of their content
 * - `sweep`: rows of a sweep
 * - `run`: rows of a run, starting with the table that the others refer to
 * - `annotations`: statements of people and of the gate about results; each table after those that it refers to
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

/** Broken references, by table and target. */
export function brokenReferences(client: Database.Database, database: 'main' | 'other') {
  return client
    .prepare<[string], { table: string; parent: string; rows: number }>(
      `SELECT "table", parent, count(*) AS rows FROM pragma_foreign_key_check(NULL, ?) GROUP BY "table", parent`,
    )
    .all(database);
}

/** Rows with the same ID and different content in two stores; those of this store stayed. */
export const mergeConflict = z.strictObject({
  table: z.string(),
  columns: z.array(z.string()).describe('Columns that differ; empty if the run exists here without this row'),
  rows: count,
  examples: z.array(z.string()).describe('Ids of some of them'),
});

export type MergeConflict = Readonly<z.infer<typeof mergeConflict>>;

const MAX_EXAMPLES = 3;

/** Columns that may differ between two stores, because they are resolved elsewhere or irrelevant. */
const MAY_DIFFER: Readonly<Record<string, readonly string[]>> = {
  // The more advanced state wins, and the span of an import follows from its runs.
  sweeps: ['"state"', '"plan"', '"started_at"', '"finished_at"'],
  sweep_imports: ['"imported_at"'],
  accuracy: ['"sweep_id"'],
  attachments: ['"attached_at"', '"pruned_at"'],
  baselines: ['"reason"', '"created_at"'],
  // Not compared: gigabytes of data derived from artefacts that have hashes. Samples also depend on the version of
  // bench that wrote them.
  samples: ['"data"'],
  layer_profiles: ['"data"'],
  pruned_runs: ['"pruned_at"', '"samples"', '"layers"', '"artefacts"'],
  acknowledgements: ['"created_at"'],
};

/** Compared tables. Findings are not compared, because the next `bench check` judges the merged history. */
const COMPARED: readonly string[] = [
  ...MERGED_TABLES.shared,
  ...MERGED_TABLES.sweep,
  'accuracy',
  'attachments',
  'baselines',
  'acknowledgements',
];

/** Rows with equal IDs and different content. Needs `other` attached and `common_runs` filled. */
export function findConflicts(client: Database.Database): MergeConflict[] {
  return [...COMPARED, ...MERGED_TABLES.run].flatMap((table) => differencesIn(client, table, MAY_DIFFER[table]));
}

/**
 * Differing rows, grouped by the columns that differ. Of the tables of runs only rows of `common_runs`, where a missing
 * row also counts.
 * @param free columns that may differ
 * @param where condition on rows of `main`, as `m`
 */
export function differencesIn(
  client: Database.Database,
  table: string,
  free: readonly string[] = [],
  where = '1',
): MergeConflict[] {
  const shape = shapeOf(client, table);
  const compared = shape.values.filter((column) => !free.includes(column));
  const marks = compared.map((column) => `iif(m.${column} IS NOT o.${column}, '1', '0')`);
  const isOfRun = MERGED_TABLES.run.some((name) => name === table);
  const others = isOfRun
    ? `common_runs c CROSS JOIN other."${table}" o ON o.run_id = c.run_id LEFT`
    : `other."${table}" o`;
  // Data that was pruned here does not count as missing.
  const column = { samples: 'samples', layer_profiles: 'layers' }[table];
  const isPruned = `EXISTS (SELECT 1 FROM main.pruned_runs p WHERE p.run_id = o.run_id AND p.${column})`;
  const isMissing = !isOfRun || table === 'pruned_runs' ? '0' : column === undefined ? '1' : `NOT ${isPruned}`;
  const rows = client
    .prepare<[], [id: string, isLacking: number, marks: string]>(
      `SELECT * FROM (
         SELECT ${shape.keys.map((key) => `o.${key}`).join(` || ' ' || `)}, m.${shape.keys[0]} IS NULL AS lacks,
                ${["''", ...marks].join(' || ')} AS marks, ${isMissing} AS isMissing
         FROM ${others} JOIN main."${table}" m ON ${sameKeys(shape)} WHERE ${where})
       WHERE iif(lacks, isMissing, marks LIKE '%1%')`,
    )
    .raw();
  const groups = new Map<string, MergeConflict & { rows: number }>();
  for (const [id, isLacking, found] of rows.iterate()) {
    const differing = isLacking === 1 ? [] : compared.filter((_, index) => found.charAt(index) === '1');
    const columns = differing.map((name) => name.slice(1, -1));
    const group = groups.get(columns.join()) ?? { table, columns, rows: 0, examples: [] };
    group.rows += 1;
    if (group.examples.length < MAX_EXAMPLES) group.examples.push(id);
    groups.set(columns.join(), group);
  }
  return [...groups.values()];
}

/** Condition for the same row in both stores, as `m` and `o`. */
export function sameKeys({ keys }: ReturnType<typeof shapeOf>): string {
  return keys.map((key) => `m.${key} = o.${key}`).join(' AND ');
}
