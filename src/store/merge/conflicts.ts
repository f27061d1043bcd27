import type { MergeConflict } from './report.ts';
import type { StoreDatabase } from '../file/open.ts';
import { CHECKSUM_COLUMN } from '../verify/row-checksums.ts';
import { MERGED_TABLES, shapeOf } from './merged-tables.ts';

const MAX_EXAMPLES = 3;

/** Columns whose differences are ignored: resolved elsewhere, or irrelevant. */
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

/** Derived from columns that are compared, or that may differ. */
const OWN_CHECKSUM = `"${CHECKSUM_COLUMN}"`;

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
export function findConflicts(db: StoreDatabase): MergeConflict[] {
  const { $client } = db;
  const hasCommonRuns = $client.prepare('SELECT 1 FROM common_runs LIMIT 1').get() !== undefined;
  return [
    ...COMPARED.flatMap((table) => conflictsIn(db, table, 'rows')),
    ...(hasCommonRuns ? MERGED_TABLES.run : []).flatMap((table) => conflictsIn(db, table, 'runs')),
  ];
}

/** @param by `runs` for rows of runs: then a row missing only here is a conflict as well */
function conflictsIn(db: StoreDatabase, table: string, by: 'rows' | 'runs'): MergeConflict[] {
  const { keys, values } = shapeOf(db, table);
  const free = MAY_DIFFER[table] ?? [];
  const compared = values.filter((column) => ![...free, OWN_CHECKSUM].includes(column));
  const sizes = table === 'layer_profiles' ? ['length(#."data")'] : [];
  const expressions = [...compared.map((column) => `#.${column}`), ...sizes];
  if (by === 'rows' && expressions.length === 0) return [];
  const side = (name: string): string[] => expressions.map((text) => text.replace('#', name));
  const [ours, theirs] = [side('m'), side('o')];
  const differs = expressions.length === 0 ? '0' : `(${ours.join(', ')}) IS NOT (${theirs.join(', ')})`;
  const on = keys.map((key) => `m.${key} = o.${key}`).join(' AND ');
  const lacking = `m.${keys[0]} IS NULL AND ${mayLack(table)}`;
  const from =
    by === 'rows'
      ? `other."${table}" o JOIN main."${table}" m ON ${on} WHERE ${differs}`
      : `common_runs c CROSS JOIN other."${table}" o ON o.run_id = c.run_id
         LEFT JOIN main."${table}" m ON ${on}
         WHERE CASE WHEN m.${keys[0]} IS NULL THEN ${lacking} ELSE ${differs} END`;
  const marks = ours.map((own, index) => `iif(${own} IS NOT ${theirs[index]}, '1', '0')`);
  const rows = db.$client
    .prepare<[], [id: string, isLacking: number, marks: string]>(
      `SELECT ${keys.map((key) => `o.${key}`).join(` || ' ' || `)}, m.${keys[0]} IS NULL,
              ${marks.length === 0 ? `''` : marks.join(' || ')}
       FROM ${from}`,
    )
    .raw();
  const names = [...compared.map((column) => column.replaceAll('"', '')), 'data'];
  return grouped(table, names, rows.iterate());
}

/** Data that was pruned here is not missing. */
function mayLack(table: string): string {
  const column = { samples: 'samples', layer_profiles: 'layers' }[table];
  if (table === 'pruned_runs') return '0';
  return column === undefined
    ? '1'
    : `NOT EXISTS (SELECT 1 FROM main.pruned_runs p WHERE p.run_id = o.run_id AND p."${column}")`;
}

function grouped(
  table: string,
  names: readonly string[],
  rows: Iterable<readonly [id: string, isLacking: number, marks: string]>,
): MergeConflict[] {
  const groups = new Map<string, { columns: string[]; rows: number; examples: string[] }>();
  for (const [id, isLacking, marks] of rows) {
    const columns = isLacking === 1 ? [] : names.filter((_, index) => marks.charAt(index) === '1');
    const name = columns.join(' ');
    const group = groups.get(name) ?? { columns, rows: 0, examples: [] };
    group.rows += 1;
    if (group.examples.length < MAX_EXAMPLES) group.examples.push(id);
    groups.set(name, group);
  }
  return [...groups.values()].map((group) => ({ table, ...group }));
}
