import { isColdStart } from '../records/harness.ts';
import type { CellRun } from '../records/run.ts';
import type { RunId } from '../records/scalars.ts';
import { namedCells, namedRun, SHORTEST_ID } from './by-name.ts';
import { sweepsOfName } from './sides.ts';
import { allCells, findCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { cellRunsOf, newestRunsOf } from '../store/runs/cell-runs.ts';
import { findRunsByPrefix } from '../store/runs/show-run.ts';
import { cellLabel } from '../records/cell-label.ts';
import { compareTexts } from '../text/canonical-json.ts';
import { printable } from '../text/printable.ts';
import type { Io } from '../cli/io.ts';

/** As `namedRun`; for a sweep or several cells the newest timed run, with a note. */
export async function newestRun(db: StoreDatabase, name: string, io: Io): Promise<RunId> {
  const runs = name.length >= SHORTEST_ID && findRunsByPrefix(db, name).length > 0 ? [] : await runsOf(db, name, io);
  const [newest] = runs.toSorted((a, b) => compareTexts(b.startedAt ?? '', a.startedAt ?? ''));
  if (newest === undefined) return namedRun(db, name);
  const cell = findCells(db, [newest.cellKey]).get(newest.cellKey);
  const label = cell === undefined ? '' : ` of ${printable(cellLabel(cell))}`;
  io.err(`note: ${printable(name)} has several runs: taking the newest, ${newest.runId.slice(0, 8)}${label}\n`);
  return newest.runId;
}

async function runsOf(db: StoreDatabase, name: string, io: Io): Promise<CellRun[]> {
  const [sweep] = name.length < SHORTEST_ID ? [] : await sweepsOfName(db, name, io);
  if (sweep !== undefined) return cellRunsOf(db, [sweep.sweepId]).filter(({ role }) => role === 'timed');
  const cells = namedCells(allCells(db), [name]).filter((cell) => !isColdStart(cell));
  if (cells.length < 2) return [];
  const keys = cells.map(({ key }) => key);
  return [...newestRunsOf(db, keys).values()].flat();
}
