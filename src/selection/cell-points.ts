import type { KeyedCell } from '../records/cell.ts';
import { cellLabel } from '../text/cell-label.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import type { Sweep } from '../records/sweep.ts';
import { allCells } from '../store/cells.ts';
import { sweepsOfCell } from '../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { layerRunsOfCell } from '../store/runs/layer-runs.ts';
import { cellKeysOf } from '../store/runs/runs.ts';
import { findRunsByPrefix, showRun } from '../store/runs/show-run.ts';
import { chooseCells, namedCells } from './by-name.ts';
import type { Io } from '../cli/io.ts';
import { resolveSide, resolveSides } from './sides.ts';
import type { RunId } from '../records/scalars.ts';

/** One cell in some sweeps, or one run of it. */
export interface CellPoint {
  readonly ref: string;
  readonly cell: KeyedCell;
  readonly sweeps: readonly Sweep[];
  /** Null when all runs of the cell in the sweeps count. */
  readonly runId: RunId | null;
  readonly note: string | null;
}

type Place = Omit<CellPoint, 'cell'> & { readonly cells: readonly KeyedCell[] };

/**
 * Two sides of a cell. Each is a reference as for `compare` (a commit, a sweep, `latest~1`, `baseline:NAME`), a run's
 * id, or an expression that picks a cell (`precision=fp8`) in its newest sweep.
 * @param name of one cell or more; null for all
 */
export async function resolvePoints(
  db: StoreDatabase,
  name: string | null,
  refs: readonly [string, string] | null,
  io: Io,
): Promise<{ base: CellPoint; head: CellPoint }> {
  const named = namedCells(allCells(db), name === null ? [] : [name]);
  const [base, head] = await placesOf(db, named, refs, io);
  const isSameCell = !isExpression(base.ref) && !isExpression(head.ref);
  if (!isSameCell) {
    const [a, b] = [pointOf(base, name), pointOf(head, name)];
    return inOneSweep(db, a, b);
  }
  const common = base.cells.filter(({ key }) => head.cells.some((cell) => cell.key === key));
  if (common.length === 0) {
    throw new UsageError(
      `no cell${name === null ? '' : ` ${printable(name)}`} is on both sides, ${printable(base.ref)} and ${printable(head.ref)}`,
    );
  }
  return { base: pointOf({ ...base, cells: common }, name), head: pointOf({ ...head, cells: common }, name) };
}

/** Two cells are best compared in the newest sweep that measured both, preferably with profiles. */
function inOneSweep(db: StoreDatabase, base: CellPoint, head: CellPoint): { base: CellPoint; head: CellPoint } {
  const free = [base, head].filter(({ ref }) => isExpression(ref));
  const stated = [base, head].find(({ ref }) => !isExpression(ref));
  const sweeps = stated?.sweeps ?? sweepsOfCell(db, base.cell.key, SEARCHED_SWEEPS);
  const others = new Set(
    free.flatMap(({ cell }) => sweepsOfCell(db, cell.key, SEARCHED_SWEEPS)).map(({ sweepId }) => sweepId),
  );
  const common = sweeps.filter(
    ({ sweepId }) => others.has(sweepId) && [base, head].every(({ cell }) => cellKeysOf(db, [sweepId]).has(cell.key)),
  );
  const chosen =
    common.find(({ sweepId }) =>
      [base, head].every(({ cell }) => layerRunsOfCell(db, cell.key, [sweepId]).length > 0),
    ) ?? common[0];
  if (chosen === undefined) return { base, head };
  const placed = (point: CellPoint): CellPoint => (isExpression(point.ref) ? { ...point, sweeps: [chosen] } : point);
  return { base: placed(base), head: placed(head) };
}

const SEARCHED_SWEEPS = 100;

/** Where one cell was last measured, or its place in the named sweeps. */
export async function resolvePoint(db: StoreDatabase, name: string, ref: string | null, io: Io): Promise<CellPoint> {
  const named = namedCells(allCells(db), [name]);
  if (ref === null) return pointOf(newestOf(db, named, name), name);
  return pointOf(await placeOf(db, named, ref, io), name);
}

function isExpression(ref: string): boolean {
  return /[=<>]/.test(ref);
}

async function placesOf(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  refs: readonly [string, string] | null,
  io: Io,
): Promise<[Place, Place]> {
  if (refs === null) {
    const { base, head } = await resolveSides(db, undefined, undefined, io);
    return [inSweeps(db, cells, base), inSweeps(db, cells, head)];
  }
  return [await placeOf(db, cells, refs[0], io), await placeOf(db, cells, refs[1], io)];
}

async function placeOf(db: StoreDatabase, cells: readonly KeyedCell[], ref: string, io: Io): Promise<Place> {
  if (isExpression(ref)) return newestOf(db, chooseCells(cells, ref), ref);
  const [runId, ...more] = ref.length < SHORTEST_ID ? [] : findRunsByPrefix(db, ref);
  if (runId !== undefined && more.length === 0) {
    const run = showRun(db, runId);
    const { sweeps } = await resolveSide(db, run?.sweepId ?? '', io);
    const ofRun = cells.filter(({ key }) => key === run?.cellKey);
    if (ofRun.length === 0) {
      throw new UsageError(`run ${printable(ref)} is of another cell than the one asked for`);
    }
    return { ref, cells: ofRun, sweeps, runId, note: null };
  }
  return inSweeps(db, cells, await resolveSide(db, ref, io));
}

const SHORTEST_ID = 4;

function inSweeps(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  side: { readonly ref: string; readonly sweeps: readonly Sweep[]; readonly note: string | null },
): Place {
  const there = cellKeysOf(
    db,
    side.sweeps.map(({ sweepId }) => sweepId),
  );
  return { ...side, cells: cells.filter(({ key }) => there.has(key)), runId: null };
}

function newestOf(db: StoreDatabase, cells: readonly KeyedCell[], ref: string): Place {
  const [cell] = cells;
  const sweeps = cell === undefined || cells.length > 1 ? [] : sweepsOfCell(db, cell.key, 1);
  return { ref, cells, sweeps, runId: null, note: null };
}

const LISTED = 6;

function pointOf({ cells, ...place }: Place, name: string | null): CellPoint {
  const [cell] = cells;
  if (cell === undefined) {
    throw new UsageError(
      `${printable(place.ref)}: ${name === null ? 'no cell' : printable(name)} was not measured there; see \`bench ls cells\``,
    );
  }
  if (cells.length > 1) {
    const listed = cells.slice(0, LISTED).map((one) => `${one.key.slice(0, 8)} ${printable(cellLabel(one))}`);
    const more = cells.length > LISTED ? ', …' : '';
    throw new UsageError(
      `${name === null ? 'there are' : `${printable(name)} is`} ${cells.length} cells: name one of ${listed.join(', ')}${more}`,
    );
  }
  return { ...place, cell };
}
