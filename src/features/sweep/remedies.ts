import { GRAPH_ADVICE, withGraphGain } from '../../judge/bound.ts';
import { axisTwinKey } from '../../judge/latency-search.ts';
import { isStarved } from '../../judge/run-trust.ts';
import { valuesOf } from '../../judge/value-rule.ts';
import type { CellBound } from '../../records/bound.ts';
import { type KeyedCell, batchOf, keyedCell, cellDifference } from '../../records/cell.ts';
import { outcomeReason } from '../../records/outcome.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { median } from '../../statistics/order-statistics.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf, newestRunsOf } from '../../store/runs/cell-runs.ts';
import { controlFlowOf } from '../../store/sweeps/sweeps.ts';
import { matrixCellsOf } from '../../store/sweeps/swept-cells.ts';
import { formatPercent } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';

const IS_OF_LAUNCHES = /CUDA graph|larger batch/;
/** Batches to look for among left-out cells, of which only the keys are stored. */
const TIMES_THE_BATCH = [
  ...Array.from({ length: 127 }, (_, index) => index + 2),
  ...Array.from({ length: 13 }, (_, index) => 256 * 2 ** index),
];

/**
 * Adds to the bottlenecks of a sweep which cells of its matrix have what the advice says, and what they gain; cells
 * that the sweep left out by their newest runs. Drops a CUDA graph that gains nothing or is unlikely to.
 */
export function remediesIn(db: StoreDatabase, sweepId: SweepId, ofSweep: readonly CellRun[]) {
  const { leftOut, planned } = matrixCellsOf(db, sweepId);
  const matrix = new Set([...planned, ...(leftOut ?? [])]);
  const known = [...findCells(db, [...matrix]).values()];
  // Most sweeps have no such bottleneck, and need not read the runs of cells that they left out.
  const read = () => {
    const runs = [...ofSweep, ...[...newestRunsOf(db, [...(leftOut ?? [])]).values()].flat()];
    return { runs, rates: ratesOf(known, runs), controlFlow: controlFlowOf(db, sweepId) };
  };
  let found: ReturnType<typeof read> | undefined;
  return (cell: KeyedCell, bound: CellBound | null): CellBound | null => {
    if (bound === null || !IS_OF_LAUNCHES.test(bound.advice)) return bound;
    const { controlFlow, rates, runs } = (found ??= read());
    const [own, batch] = [rates.get(cell.key), batchOf(cell.shapes) ?? 0];
    if (!own) return bound;
    const gainOf = ({ key }: KeyedCell): number => ((rates.get(key) ?? 0) / own - 1) * 100;
    const remedy = (twins: readonly KeyedCell[]): string[] => {
      // A cell that was measured to gain nothing is no remedy.
      const helps = (twin: KeyedCell): boolean => gainOf(twin) > 0 || gainOf(twin) <= -100;
      const [best] = twins
        .filter((twin) => matrix.has(twin.key) && helps(twin))
        .toSorted((a, b) => gainOf(b) - gainOf(a));
      if (best === undefined) return [];
      const [gain, name] = [gainOf(best), best.key.slice(0, 8)];
      const isLeftOut = leftOut?.has(best.key) === true;
      // A cell without a result here needs something else than another run.
      if (gain <= -100 && !isLeftOut) return [];
      const gained = `${formatPercent(gain)} ${batch > 0 ? 'items' : 'queries'}/s in ${isLeftOut ? 'its newest runs' : 'this sweep'}: cell ${name}`;
      const run = `not measured in this sweep: \`bench run MATRIX --filter ${name}\``;
      return [`${cellDifference(cell, best)}: ${gain > -100 ? gained : run}`];
    };
    const graph = keyedCell({ ...cell, cudaGraph: true });
    const ofGraph = runs.filter(({ cellKey }) => cellKey === graph.key);
    const isCaptured = ofGraph.every(({ outcome }) => outcomeReason(outcome) !== 'graphNotCaptured');
    const ops = controlFlow[cell.model];
    const expected = ops === undefined ? Infinity : `is unlikely to help: the host evaluates ${printable(ops)}`;
    const measured = rates.get(graph.key) ? gainOf(graph) : expected;
    const proven = withGraphGain(bound, isCaptured ? measured : 'cannot be captured here');
    const twinKey = axisTwinKey('batch', cell);
    const larger = () => [
      ...known.filter((one) => (batchOf(one.shapes) ?? 0) > batch && axisTwinKey('batch', one) === twinKey),
      // Only a cell that was never measured needs to be guessed.
      ...(known.length === matrix.size ? [] : TIMES_THE_BATCH.map((times) => withBatch(cell, times * batch))),
    ];
    const isBatch = batch > 0 && proven.advice.includes('larger batch');
    const remedies = [
      ...(GRAPH_ADVICE.includes(proven.advice) ? remedy([graph]) : []),
      ...(isBatch ? remedy(larger()) : []),
    ];
    return remedies.length === 0 ? proven : { ...proven, remedies };
  };
}

export function withBatch({ shapes, ...cell }: KeyedCell, batch: number): KeyedCell {
  const resized = Object.entries(shapes).map(([input, dims]) => [input, [batch, ...dims.slice(1)]] as const);
  return keyedCell({ ...cell, shapes: Object.fromEntries(resized) });
}

/** Items a second by the key of the cell; queries without a batch. Runs in which the host starved the GPU do not count. */
export function ratesOf(cells: readonly KeyedCell[], runs: readonly CellRun[]): Map<CellKey, number> {
  const byCell = Map.groupBy(
    runs.filter((run) => isMeasured(run) && !isStarved(run)),
    ({ cellKey }) => cellKey,
  );
  const qpsOf = ({ key }: KeyedCell): number => median(valuesOf(byCell.get(key) ?? [], 'throughputQps')) ?? 0;
  return new Map(cells.map((cell) => [cell.key, (batchOf(cell.shapes) ?? 1) * qpsOf(cell)]));
}

/** The bottleneck of a cell in a sweep, with the remedies there, and advice that names the cell. */
export function remediedBound(db: StoreDatabase, sweepId: SweepId, cell: KeyedCell | null, bound: CellBound | null) {
  if (cell === null || bound === null) return bound;
  const isOfLaunches = IS_OF_LAUNCHES.test(bound.advice);
  const remedied = isOfLaunches ? remediesIn(db, sweepId, cellRunsOf(db, [sweepId]))(cell, bound) : bound;
  return remedied && { ...remedied, advice: remedied.advice.replace('bench layers', `$& ${cell.key.slice(0, 8)}`) };
}
