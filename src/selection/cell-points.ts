import type { KeyedCell } from '../records/cell.ts';
import { ensure, UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { shellQuote } from '../text/shell-quote.ts';
import type { Sweep } from '../records/sweep.ts';
import { allCells } from '../store/cells.ts';
import { sweepsOfCell } from '../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { layerRunsOfCell } from '../store/runs/layer-runs.ts';
import { cellKeysOf } from '../store/runs/runs.ts';
import { chooseCells, namedCells, onlyOne, typed } from './by-name.ts';
import type { Io } from '../cli/io.ts';
import { resolveSide, resolveSides, type Side } from './sides.ts';
import type { RunId } from '../records/scalars.ts';
import { profiledRun, profiledCell } from './profiled-engine.ts';
import { fastestRunOf, findRunsByPrefix, type ShownRun, showRun } from '../store/runs/show-run.ts';
import { isColdStart } from '../records/harness.ts';
import { shortNames } from '../terminal/cell-columns.ts';

/** One cell in some sweeps, or a single run of it. */
export interface CellPoint extends Side {
  /** Whether `ref` selects a cell rather than a sweep. */
  readonly isOfCells: boolean;
  readonly cell: KeyedCell;
  /** Null when all runs of the cell in the sweeps count. */
  readonly runId: RunId | null;
}

type Place = Omit<CellPoint, 'cell'> & { readonly cells: readonly KeyedCell[] };

/**
 * Two sides of a cell. Each is a reference as for `compare` (a commit, a sweep, `latest~1`, `baseline:NAME`), the ID of
 * a run, or a cell in its newest sweep, by words or an expression (`fp8`, `precision=fp8`).
 * @param name name of one cell or more; null for all
 */
export async function resolvePoints(
  db: StoreDatabase,
  name: string | null,
  refs: readonly [string, string] | null,
  io: Io,
): Promise<{ base: CellPoint; head: CellPoint }> {
  const named = namedCells(db, allCells(db), name === null ? [] : [name]);
  const sides = refs ?? (await resolveSides(db, undefined, undefined, io));
  const [base, head] =
    'base' in sides
      ? [inSweeps(db, named, sides.base), inSweeps(db, named, sides.head)]
      : [await placeOf(db, named, sides[0], io), await placeOf(db, named, sides[1], io)];
  const areRuns = base.runId !== null && head.runId !== null;
  if (areRuns || base.isOfCells || head.isOfCells) {
    return inOneSweep(db, pointOf(base, name, named), pointOf(head, name, named));
  }
  const lacking = [base, head].find(({ cells: own }) => own.length === 0);
  if (lacking !== undefined) throw notMeasured(lacking, name, 'there');
  const cells = base.cells.filter(({ key }) => head.cells.some((cell) => cell.key === key));
  return { base: pointOf({ ...base, cells }, name, named), head: pointOf({ ...head, cells }, name, named) };
}

/** Moves two cells to the newest sweep that measured both, preferably with profiles. */
function inOneSweep(db: StoreDatabase, base: CellPoint, head: CellPoint): { base: CellPoint; head: CellPoint } {
  const both = [base, head];
  const sweepsOf = ({ cell }: CellPoint) => sweepsOfCell(db, cell.key, SEARCHED_SWEEPS);
  const searched = both.find(({ isOfCells }) => !isOfCells)?.sweeps ?? sweepsOf(base);
  const free = both.filter(({ isOfCells }) => isOfCells);
  const others = new Set(free.flatMap(sweepsOf).map(({ sweepId }) => sweepId));
  const common = searched.filter(
    ({ sweepId }) => others.has(sweepId) && both.every(({ cell }) => cellKeysOf(db, [sweepId]).has(cell.key)),
  );
  const isProfiled = ({ sweepId }: Sweep) =>
    both.every(({ cell }) => layerRunsOfCell(db, cell.key, [sweepId]).length > 0);
  const chosen = common.find(isProfiled) ?? common[0];
  const placed = (point: CellPoint): CellPoint =>
    point.isOfCells && chosen !== undefined ? { ...point, sweeps: [chosen] } : point;
  return { base: placed(base), head: placed(head) };
}

const SEARCHED_SWEEPS = 100;

/** The newest sweep of one cell, or the cell in the named sweeps. */
async function resolvePoint(db: StoreDatabase, name: string, ref: string | null, io: Io): Promise<CellPoint> {
  const cells = allCells(db);
  const named = namedCells(db, cells, [name]);
  return pointOf(ref === null ? newestOf(db, named, name) : await placeOf(db, named, ref, io), name, cells);
}

async function placeOf(db: StoreDatabase, cells: readonly KeyedCell[], ref: string, io: Io): Promise<Place> {
  if (/[=<>]/.test(ref)) return newestOf(db, chooseCells(db, cells, ref), ref);
  const runId = runByPrefix(db, ref);
  if (runId !== null) {
    const run = storedRun(db, runId);
    const { sweeps } = await resolveSide(db, run.sweepId, io);
    const ofRun = cells.filter(({ key }) => key === run.cellKey);
    return { ref, isOfCells: false, cells: ofRun, sweeps, runId, note: null };
  }
  try {
    return inSweeps(db, cells, await resolveSide(db, ref, io));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const chosen = cellsInWords(cells, [ref]);
    if (chosen.length === 0) throw error;
    return newestOf(db, chosen, ref);
  }
}

/** The cells that match all of these words; empty if one of them matches no cell. */
export function cellsInWords(cells: readonly KeyedCell[], words: readonly string[]): KeyedCell[] {
  try {
    return words.reduce((left, word) => chooseCells(null, left, word), [...cells]);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return [];
  }
}

function inSweeps(db: StoreDatabase, cells: readonly KeyedCell[], side: Side): Place {
  const ids = side.sweeps.map(({ sweepId }) => sweepId);
  const there = cellKeysOf(db, ids);
  return { ...side, isOfCells: false, cells: cells.filter(({ key }) => there.has(key)), runId: null };
}

function newestOf(db: StoreDatabase, cells: readonly KeyedCell[], ref: string): Place {
  const [cell] = cells;
  const sweeps = cell === undefined || cells.length > 1 ? [] : sweepsOfCell(db, cell.key, 1);
  return { ref, isOfCells: true, cells, sweeps, runId: null, note: null };
}

function pointOf({ cells, ...place }: Place, name: string | null, all: readonly KeyedCell[]): CellPoint {
  if (cells.length === 0) throw notMeasured(place, name, 'there and on the other side');
  const stated = place.isOfCells ? place.ref : name;
  const what = stated === null ? 'there are' : `${printable(stated)} is`;
  return { ...place, cell: onlyCell(cells, what, all) };
}

function notMeasured({ ref }: Pick<Place, 'ref'>, name: string | null, where: string): UsageError {
  const what = name === null ? 'no cell was' : `${printable(name)} was not`;
  return new UsageError(`${printable(ref)}: ${what} measured ${where}; see \`bench ls cells\``);
}

/** A side that names a cell alone may have its newest profile in another sweep. */
export function profiledPoint(db: StoreDatabase, { cell, isOfCells, sweeps, runId, ref }: CellPoint) {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const own = runId === null ? null : profiledRun(db, runId, ref);
  return own ?? profiledCell(db, cell, ids, ref) ?? (isOfCells ? profiledCell(db, cell, null, ref) : null);
}

/** The point of a cell, with the layers of its newest profile or of the one at `at`. */
export async function profiledAt(db: StoreDatabase, name: string, at: string | undefined, io: Io) {
  const point = await resolvePoint(db, name, at ?? null, io);
  const newest = at === undefined ? profiledCell(db, point.cell, null, name) : null;
  return { ...point, engine: newest ?? profiledPoint(db, point) };
}

export function storedRun(db: StoreDatabase, runId: RunId): ShownRun {
  const run = showRun(db, runId);
  if (run === null) throw new UsageError(`run ${printable(runId)} is not in this store`);
  return run;
}

/** The only run whose ID starts with the prefix; null for none or several. */
export function runByPrefix(db: StoreDatabase, prefix: string): RunId | null {
  const [runId = null, ...more] = findRunsByPrefix(db, prefix);
  return more.length > 0 ? null : runId;
}

/**
 * The run whose ID starts with the name; for a cell, the fastest timed run of its newest sweep.
 * @throws UsageError when there is none, or more than one
 */
export function namedRun(db: StoreDatabase, name: string): string {
  const runId = onlyOne(name, findRunsByPrefix(db, name), 'ids');
  if (runId !== null) return runId;
  ensure(
    !/^latest(?:~\d+)?$/.test(name),
    `${name} is a sweep: name one of its runs, or a cell (see \`bench show ${name}\`)`,
  );
  const fastest = fastestRunOf(db, namedCell(db, allCells(db), name).key);
  if (fastest !== null) return fastest;
  throw new UsageError(`${printable(name)}: no run of it was measured (see \`bench show ${shellQuote(name)}\`)`);
}

/**
 * @param others other valid words, for a suggestion
 * @throws UsageError unless the name matches exactly one cell
 */
export function namedCell(
  of: StoreDatabase | string,
  cells: readonly KeyedCell[],
  name: string,
  others: readonly string[] = [],
) {
  const found = namedCells(of, cells, [name], others);
  // The words of a cell may be some of another one's.
  const nameOf = found.length > 1 ? shortNames(cells) : null;
  const whole = found.filter((cell) => nameOf?.(cell) === name);
  return onlyCell(whole.length === 1 ? whole : found, `${printable(name)} is`, cells);
}

const LISTED = 5;

/**
 * The only cell, apart from its cold starts.
 * @param what start of the error message: `b8 is`
 * @param all all cells from which these were chosen
 * @throws UsageError that lists the first few cells as they can be typed
 */
export function onlyCell(cells: readonly KeyedCell[], what: string, all: readonly KeyedCell[]): KeyedCell {
  const steady = cells.filter((cell) => !isColdStart(cell));
  const [cell, ...others] = steady.length === 0 ? cells : steady;
  if (cell !== undefined && others.length === 0) return cell;
  const more = cells.length > LISTED ? ', …' : '';
  throw new UsageError(`${what} ${cells.length} cells: name one, as in ${typed(cells.slice(0, LISTED), all)}${more}`);
}
