import type Database from 'better-sqlite3';

import type { MergeConflict } from './report.ts';
import { MERGED_TABLES, shapeOf } from './tables.ts';

const MAX_EXAMPLES = 3;

/** Columns that may differ between two stores: resolved elsewhere, or irrelevant. */
const MAY_DIFFER: Readonly<Record<string, readonly string[]>> = {
  // The further state wins; the span of an import follows from its runs.
  sweeps: ['"state"', '"plan"', '"started_at"', '"finished_at"'],
  sweep_imports: ['"imported_at"'],
  accuracy: ['"sweep_id"'],
  attachments: ['"attached_at"', '"pruned_at"'],
  baselines: ['"reason"', '"created_at"'],
  // Not read, for they are gigabytes, and derive from artefacts that have hashes; samples depend on the bench that wrote them.
  samples: ['"data"'],
  layer_profiles: ['"data"'],
  pruned_runs: ['"pruned_at"', '"samples"', '"layers"', '"artefacts"'],
  acknowledgements: ['"created_at"'],
};

/** Compared tables; findings are not, as the next `bench check` judges the merged history. */
const COMPARED: readonly string[] = [
  ...MERGED_TABLES.shared,
  ...MERGED_TABLES.sweep,
  'accuracy',
  'attachments',
  'baselines',
  'acknowledgements',
];

/** Rows with equal id and different content. `other` is attached, `common_runs` is filled. */
export function findConflicts(client: Database.Database): MergeConflict[] {
  return [
    ...COMPARED.flatMap((table) => differencesIn(client, table, MAY_DIFFER[table] ?? [])),
    ...MERGED_TABLES.run.flatMap((table) => differencesOfRuns(client, table, MAY_DIFFER[table] ?? [])),
  ];
}

/** @param free columns that may differ; @param where which rows of `main` count, as `m` */
export function differencesIn(
  client: Database.Database,
  table: string,
  free: readonly string[] = [],
  where = '1',
): MergeConflict[] {
  const { keys, values } = shapeOf(client, table);
  const compared = values.filter((column) => !free.includes(column));
  if (compared.length === 0) return [];
  const from = `other."${table}" o JOIN main."${table}" m ON ${equal(keys)} WHERE ${differs(compared)} AND ${where}`;
  return grouped(client, table, keys, compared, from);
}

/** Of the rows of `common_runs`: then a row missing only here is a difference as well. */
export function differencesOfRuns(
  client: Database.Database,
  table: string,
  free: readonly string[] = [],
): MergeConflict[] {
  const { keys, values } = shapeOf(client, table);
  const compared = values.filter((column) => !free.includes(column));
  // Of layers that are not read, at least the size.
  const sizes = table === 'layer_profiles' && free.includes('"data"') ? ['length("data")'] : [];
  const lacking = `m.${keys[0]} IS NULL AND ${mayLack(table)}`;
  const from = `common_runs c CROSS JOIN other."${table}" o ON o.run_id = c.run_id
    LEFT JOIN main."${table}" m ON ${equal(keys)}
    WHERE CASE WHEN m.${keys[0]} IS NULL THEN ${lacking} ELSE ${differs([...compared, ...sizes])} END`;
  return grouped(client, table, keys, [...compared, ...sizes], from);
}

function equal(keys: readonly string[]): string {
  return keys.map((key) => `m.${key} = o.${key}`).join(' AND ');
}

function sideOf(columns: readonly string[], side: string): string[] {
  return columns.map((column) => column.replace('"', `${side}."`));
}

function differs(columns: readonly string[]): string {
  if (columns.length === 0) return '0';
  return `(${sideOf(columns, 'm').join(', ')}) IS NOT (${sideOf(columns, 'o').join(', ')})`;
}

/** Data that was pruned here is not missing. */
function mayLack(table: string): string {
  const column = { samples: 'samples', layer_profiles: 'layers' }[table];
  if (table === 'pruned_runs') return '0';
  return column === undefined
    ? '1'
    : `NOT EXISTS (SELECT 1 FROM main.pruned_runs p WHERE p.run_id = o.run_id AND p."${column}")`;
}

/** By the columns that differ. */
function grouped(
  client: Database.Database,
  table: string,
  keys: readonly string[],
  columns: readonly string[],
  from: string,
): MergeConflict[] {
  const [ours, theirs] = [sideOf(columns, 'm'), sideOf(columns, 'o')];
  const marks = ours.map((own, index) => `iif(${own} IS NOT ${theirs[index]}, '1', '0')`);
  const rows = client
    .prepare<[], [id: string, isLacking: number, marks: string]>(
      `SELECT ${keys.map((key) => `o.${key}`).join(` || ' ' || `)}, m.${keys[0]} IS NULL,
              ${marks.length === 0 ? `''` : marks.join(' || ')}
       FROM ${from}`,
    )
    .raw();
  const groups = new Map<string, { columns: string[]; rows: number; examples: string[] }>();
  for (const [id, isLacking, found] of rows.iterate()) {
    const differing = isLacking === 1 ? [] : columns.filter((_, index) => found.charAt(index) === '1');
    const group = groups.get(differing.join()) ?? { columns: differing.map(nameOf), rows: 0, examples: [] };
    group.rows += 1;
    if (group.examples.length < MAX_EXAMPLES) group.examples.push(id);
    groups.set(differing.join(), group);
  }
  return [...groups.values()].map((group) => ({ table, ...group }));
}

function nameOf(column: string): string {
  return /"(.*)"/.exec(column)?.[1] ?? column;
}
