import { UsageError } from '../domain/errors.ts';
import { printable } from '../domain/printable.ts';
import type { StoreDatabase } from '../store/open.ts';
import { findRunsByPrefix } from '../store/show-run.ts';

/** @throws UsageError when no run, or more than one, has an id that begins so */
export function namedRun(db: StoreDatabase, prefix: string): string {
  const [runId, ...more] = findRunsByPrefix(db, prefix);
  if (runId === undefined) {
    throw new UsageError(
      `no run ${printable(prefix)} in this store; \`bench show CELL\` lists the runs of a cell`,
    );
  }
  if (more.length > 0) {
    throw new UsageError(`${printable(prefix)} is the start of several runs: write more of it`);
  }
  return runId;
}
