import { UsageError } from '../domain/errors.ts';
import { printable } from '../domain/printable.ts';
import type { StoreDatabase } from '../store/open.ts';
import { findRunsByPrefix } from '../store/show-run.ts';

/**
 * The id of the only run that begins so.
 * @throws UsageError when there is none, or more than one
 */
export function namedRun(db: StoreDatabase, name: string): string {
  const [runId, ...more] = findRunsByPrefix(db, name);
  if (runId === undefined) {
    throw new UsageError(
      `no run ${printable(name)}: name it by the start of its id, as \`bench show CELL\` lists them`,
    );
  }
  if (more.length > 0) {
    throw new UsageError(`${printable(name)} is the start of several ids: write more of it`);
  }
  return runId;
}
