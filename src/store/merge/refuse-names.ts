import { nameProblem } from '../../artefacts/attachment.ts';
import { StoreError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import type { StoreDatabase } from '../file/open.ts';
import { MERGED_TABLES, shapeOf } from './merged-tables.ts';

/** Rows of a run are taken by its id: that of `runs` says for all of them. */
const CHECKED_TABLES = [...MERGED_TABLES.shared, ...MERGED_TABLES.sweep, 'runs', ...MERGED_TABLES.told];
/** Ids go into paths, and are printed. */
const ID_COLUMN = /_(?:id|key)"$/;

/**
 * Looks through the store that is attached as `other`.
 * @throws StoreError when it has ids or names that bench never makes: they would become paths
 */
export function refuseNames(db: StoreDatabase): void {
  const { $client } = db;
  for (const table of CHECKED_TABLES) {
    const { keys, values } = shapeOf(db, table);
    for (const column of [...keys, ...values].filter((name) => ID_COLUMN.test(name))) {
      const found: unknown = $client
        .prepare(`SELECT ${column} FROM other."${table}" WHERE ${column} IS NOT NULL AND ${isNoId(column)} LIMIT 1`)
        .pluck()
        .get();
      if (found !== undefined) {
        refuse(`${table}.${column.slice(1, -1)}`, String(found), 'is no id');
      }
    }
  }
  const names = $client.prepare('SELECT DISTINCT name FROM other.attachments').pluck();
  for (const name of names.iterate()) {
    const problem = nameProblem(String(name));
    if (problem !== null) refuse('attachments.name', String(name), problem);
  }
}

function isNoId(column: string): string {
  return `(typeof(${column}) <> 'text' OR length(${column}) <> 32 OR ${column} GLOB '*[^0-9a-f]*')`;
}

function refuse(where: string, text: string, problem: string): never {
  throw new StoreError(
    `the other store was not written by bench: ${where} ${printable(text.slice(0, 80))}: ${problem}; nothing was merged`,
  );
}
