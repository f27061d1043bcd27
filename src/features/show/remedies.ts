import { withGraphGain } from '../../judge/bound.ts';
import { switchGains } from '../../judge/switch-pairs.ts';
import type { CellBound } from '../../records/bound.ts';
import { batchOf, type KeyedCell } from '../../records/cell.ts';
import { isMeasured } from '../../records/run.ts';
import type { SweepId } from '../../records/scalars.ts';
import { tunedBatch } from '../../selection/tuned-batches.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { buildFlagsOf, type ShownRun } from '../../store/runs/show-run.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';

/** Ways to make the cell of a run faster, from its sweep, its engine and its copies. */
export function remediesOf(db: StoreDatabase, run: ShownRun, cell: KeyedCell | null): string[] {
  if (cell === null || cell.harness !== undefined || run.measurement === null) return [];
  return [...graphRemedy(db, run, cell), ...tunedShape(db, run, cell), ...overlap(run, cell)];
}

/** Advice to use a CUDA graph, with the gain of the same cell with a graph if the sweep has one. */
function graphRemedy(db: StoreDatabase, { bound, sweepId }: ShownRun, cell: KeyedCell): string[] {
  if (bound?.advice.includes('CUDA graph') !== true || cell.cudaGraph !== false) return [];
  const gained = graphPair(db, sweepId, cell);
  return [
    gained === undefined
      ? 'this sweep has no such cell with a CUDA graph: cudaGraph: [on, off] measures both'
      : `with a CUDA graph it has ${formatPercent(gained.gainPercent)} queries/s in this sweep: cell ${gained.with.cell.key.slice(0, 8)}`,
  ];
}

/** Drops advice that the same cell with a CUDA graph disproves. */
export function provenBound(
  db: StoreDatabase,
  sweepId: SweepId,
  cell: KeyedCell | null,
  bound: CellBound | null,
): CellBound | null {
  const gained = bound === null || cell?.cudaGraph !== false ? undefined : graphPair(db, sweepId, cell);
  return gained === undefined ? bound : withGraphGain(bound, gained.gainPercent);
}

function graphPair(db: StoreDatabase, sweepId: SweepId, cell: KeyedCell) {
  const runs = Map.groupBy(cellRunsOf(db, [sweepId]).filter(isMeasured), ({ cellKey }) => cellKey);
  const cells = [...findCells(db, [...runs.keys()]).values()].map((each) => ({
    cell: each,
    runsQps: (runs.get(each.key) ?? []).flatMap(({ values }) => values.throughputQps ?? []),
    latencyMs: null,
  }));
  return switchGains(cells, 'cudaGraph')?.pairs.find(({ without }) => without.cell.key === cell.key);
}

/** An engine is fastest at the shapes that it is tuned for. */
function tunedShape(db: StoreDatabase, { buildId }: ShownRun, cell: KeyedCell): string[] {
  const batch = batchOf(cell.shapes);
  const tuned = buildId === null ? null : tunedBatch(buildFlagsOf(db, buildId), cell.shapes);
  if (batch === null || tuned === null || tuned === 0 || batch === tuned) return [];
  const ratio = formatNumber(batch / tuned, 2);
  return [
    `its batch is ${ratio} times that which its engine is tuned for (${tuned}): a profile of its own (build.profiles) may be faster`,
  ];
}

function overlap({ hints, measurement, statistics }: ShownRun, cell: KeyedCell): string[] {
  const copies = [statistics['h2dMs'], statistics['d2hMs']].flatMap((line) => line?.median ?? []);
  const throughputQps = measurement?.['throughputQps'] ?? null;
  if (copies.length === 0 || cell.streams !== 1 || throughputQps === null) return [];
  const longest = Math.max(...copies, statistics['gpuComputeMs']?.median ?? 0);
  const share = formatPercent((longest * throughputQps) / 10, false);
  return [
    `copies and compute overlap: the longest of them goes on for ${share} of the time`,
    ...(hints.includes('pageable')
      ? ['host memory was pageable, not pinned: copies are slower, and hold up others']
      : []),
  ];
}
