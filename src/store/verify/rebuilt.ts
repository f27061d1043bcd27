import type Database from 'better-sqlite3';

import * as z from 'zod';

import { count } from '../../records/output-parts.ts';
import type { SweepId } from '../../records/scalars.ts';
import { differencesIn, differencesOfRuns, type MergeConflict, MERGED_TABLES, shapeOf } from '../merge/tables.ts';
import type { StoreDamage } from './verify-store.ts';

/**
 * Tables that can be restored from artefacts, in addition to those of runs. Accuracies, baselines and attachments are
 * only in the store.
 */
const RESTORED = [
  ...MERGED_TABLES.shared,
  ...MERGED_TABLES.sweep,
  'findings',
  'finding_cells',
  'acknowledgements',
  'judged_sweeps',
] as const;
/** No artefact records the notifications. */
const NOT_RESTORED: Readonly<Record<string, readonly string[]>> = { findings: ['"notified_at"'] };

export const comparedTable = z.strictObject({
  table: z.string(),
  rows: count.describe('Rows compared with the artefacts'),
  notComparable: count.describe('Rows without artefacts'),
});

export type ComparedTable = Readonly<z.infer<typeof comparedTable>>;

export interface RebuiltComparison {
  readonly tables: readonly ComparedTable[];
  readonly found: readonly StoreDamage[];
}

/**
 * Compares a store with another one made from its artefacts, table by table.
 * @param toolVersion version of this bench; differences in sweeps of another version may be due to its parser
 * @param sweepIds null for all
 */
export function compareRebuilt(
  client: Database.Database,
  rebuiltPath: string,
  toolVersion: string,
  sweepIds: readonly SweepId[] | null,
): RebuiltComparison {
  client.pragma('query_only = OFF');
  client.prepare('ATTACH ? AS other').run(rebuiltPath);
  client.exec('CREATE TEMP TABLE common_runs (run_id TEXT PRIMARY KEY) WITHOUT ROWID');
  const version = `(SELECT s.tool_version FROM main.sweeps s WHERE s.sweep_id = m.sweep_id)`;
  const takeRuns = client.prepare(`INSERT INTO common_runs SELECT m.run_id FROM other.runs o
    JOIN main.runs m ON m.run_id = o.run_id WHERE (${version} = ?) = ?`);
  const isOwnBuild = `EXISTS (SELECT 1 FROM main.runs r JOIN main.sweeps s ON s.sweep_id = r.sweep_id
    WHERE r.build_id = m.build_id AND r.role = 'build' AND s.tool_version = '${toolVersion.replaceAll("'", "''")}')`;
  const found: StoreDamage[] = [];
  for (const isOwn of [true, false]) {
    client.exec('DELETE FROM common_runs');
    takeRuns.run(toolVersion, Number(isOwn));
    const builds = differencesIn(client, 'builds', [], isOwn ? isOwnBuild : `NOT ${isOwnBuild}`);
    const runs = MERGED_TABLES.run.flatMap((table) => [
      ...differencesOfRuns(client, table),
      ...withoutOrigin(client, table),
    ]);
    found.push(...[...builds, ...runs].map((one) => damageOf(one, isOwn)));
  }
  const others = RESTORED.filter((table) => table !== 'builds');
  const differing = others.flatMap((table) => differencesIn(client, table, NOT_RESTORED[table]));
  found.push(...differing.map((one) => damageOf(one, true)));
  const tables = [...RESTORED, ...MERGED_TABLES.run].map((table) => compared(client, table, sweepIds));
  client.exec('DROP TABLE temp.common_runs; DETACH other; PRAGMA query_only = ON');
  return { tables, found };
}

/** Rows of a run in both stores that its artefacts do not contain. */
function withoutOrigin(client: Database.Database, table: string): MergeConflict[] {
  // Only this store knows what was pruned and which starts a kill interrupted.
  if (table === 'pruned_runs') return [];
  const { keys } = shapeOf(client, table);
  const ids = client
    .prepare<[], string>(
      `SELECT m.run_id FROM common_runs c CROSS JOIN main."${table}" m ON m.run_id = c.run_id
       LEFT JOIN other."${table}" o ON ${keys.map((key) => `o.${key} = m.${key}`).join(' AND ')} WHERE o.run_id IS NULL`,
    )
    .pluck()
    .all();
  return ids.length === 0 ? [] : [{ table, columns: ['*'], rows: ids.length, examples: ids.slice(0, 3) }];
}

function damageOf({ table, columns, rows, examples }: MergeConflict, isOwn: boolean): StoreDamage {
  const [number, more] = [`${rows} ${rows === 1 ? 'row' : 'rows'}`, rows > examples.length ? ', …' : ''];
  const named = `(${examples.join(', ')}${more})`;
  const what =
    columns.length === 0
      ? `lacks ${number} that the artefacts give ${named}`
      : columns[0] === '*'
        ? `has ${number} that the artefacts do not give ${named}`
        : `${number} differ from the artefacts in ${columns.join(', ')} ${named}`;
  const advice = isOwn
    ? 'restore a backup, or make a new store with `bench import artefacts/`'
    : 'stored by another version of bench, whose parser may have read them otherwise';
  return { kind: isOwn ? 'row' : 'otherParser', where: table, what, advice };
}

function compared(client: Database.Database, table: string, sweepIds: readonly SweepId[] | null): ComparedTable {
  const { keys, values } = shapeOf(client, table);
  const columns = [...keys, ...values];
  const asked = 'IN (SELECT value FROM json_each(@ids))';
  const ofSweep = columns.includes('"sweep_id"')
    ? `m.sweep_id ${asked}`
    : columns.includes('"run_id"')
      ? `m.run_id IN (SELECT run_id FROM main.runs WHERE sweep_id ${asked})`
      : // Rows that several sweeps share.
        `o.${keys[0]} IS NOT NULL`;
  const on = keys.map((key) => `o.${key} = m.${key}`).join(' AND ');
  const row = client
    .prepare<[{ ids: string }], { rows: number; here: number }>(
      `SELECT count(*) AS "here", count(o.${keys[0]}) AS "rows" FROM main."${table}" m LEFT JOIN other."${table}" o ON ${on}
       WHERE @ids = 'null' OR ${ofSweep}`,
    )
    .get({ ids: JSON.stringify(sweepIds) });
  const { rows, here } = row ?? { rows: 0, here: 0 };
  return { table, rows, notComparable: here - rows };
}
