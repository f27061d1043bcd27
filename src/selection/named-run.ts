import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { measuredRunIds } from '../store/builds/builds.ts';
import { allCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { findRunsByPrefix, showRun, type ShownRun } from '../store/runs/show-run.ts';
import { namedCells } from './choose-cells.ts';

/** @throws UsageError when there is none of that id */
export function storedRun(db: StoreDatabase, runId: string): ShownRun {
  const run = showRun(db, runId);
  if (run === null) throw new UsageError(`no run ${printable(runId)} in this store`);
  return run;
}

const SHORTEST_ID = 4;

/**
 * The id of the run that begins so; of a cell the fastest timed run in its newest sweep.
 * @throws UsageError when there is none, or more than one
 */
export function namedRun(db: StoreDatabase, name: string): string {
  const [runId, ...more] = name.length < SHORTEST_ID ? [] : findRunsByPrefix(db, name);
  if (more.length > 0) {
    throw new UsageError(`${printable(name)} is the start of several ids: write more of it`);
  }
  if (runId !== undefined) return runId;
  const cells = allCells(db);
  if (cells.length === 0 || /^[0-9a-f]{32}$/.test(name)) {
    throw new UsageError(`no run ${printable(name)}: \`bench show CELL\` lists those of a cell`);
  }
  const [cell, ...others] = namedCells(cells, [name]);
  if (cell === undefined || others.length > 0) {
    throw new UsageError(
      `${printable(name)} is ${others.length + 1} cells: name one by its key (see \`bench ls cells\`), or a run`,
    );
  }
  const [fastest] = measuredRunIds(db, cell.key);
  if (fastest === undefined) {
    throw new UsageError(`${printable(name)}: no run of it was measured (see \`bench show\`)`);
  }
  return fastest;
}
