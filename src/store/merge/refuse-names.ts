import { nameProblem } from '../../domain/attachment.ts';
import { StoreError } from '../../domain/errors.ts';
import { printable } from '../../domain/printable.ts';
import type { StoreDatabase } from '../open.ts';

/** Columns whose values become names of folders and files. */
const ID_COLUMNS: readonly (readonly [table: string, column: string])[] = [
  ['sweeps', 'sweep_id'],
  ['runs', 'run_id'],
  ['runs', 'sweep_id'],
  ['runs', 'engine_key'],
  ['runs', 'build_id'],
  ['attachments', 'run_id'],
];

/**
 * Looks through the store that is attached as `other`.
 * @throws StoreError when it has ids or names that bench never makes: they would become paths
 */
export function refuseNames({ $client }: StoreDatabase): void {
  for (const [table, column] of ID_COLUMNS) {
    const found: unknown = $client
      .prepare(
        `SELECT "${column}" FROM other."${table}" WHERE "${column}" IS NOT NULL
         AND (typeof("${column}") <> 'text' OR length("${column}") <> 32 OR "${column}" GLOB '*[^0-9a-f]*') LIMIT 1`,
      )
      .pluck()
      .get();
    if (found !== undefined) refuse(`${table}.${column}`, String(found), 'is no id');
  }
  const names = $client.prepare('SELECT DISTINCT name FROM other.attachments').pluck();
  for (const name of names.iterate()) {
    const problem = nameProblem(String(name));
    if (problem !== null) refuse('attachments.name', String(name), problem);
  }
}

function refuse(where: string, text: string, problem: string): never {
  throw new StoreError(
    `the other store was not written by bench: ${where} ${printable(text.slice(0, 80))}: ${problem}; nothing was merged`,
  );
}
