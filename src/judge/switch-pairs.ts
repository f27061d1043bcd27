import { type KeyedCell } from '../records/cell.ts';
import { canonicalJson } from '../text/canonical-json.ts';
import { median } from '../statistics/median.ts';
import type { CellComparison } from '../records/verdict.ts';
import { compareCells } from './compare/compare-cells.ts';

export interface SwitchedCell {
  readonly cell: KeyedCell;
  readonly runsQps: readonly number[];
  readonly latencyMs: number | null;
}

/** A switch of a cell: a CUDA graph, or the copies of its inputs and outputs. */
export type Switch = 'cudaGraph' | 'dataTransfers';

/** The same cell with the switch on and off. */
export interface SwitchPair<Row extends SwitchedCell> {
  readonly without: Row;
  readonly with: Row;
  readonly gainPercent: number;
  /** Change of the median latency; below 0 when it is shorter with the switch. */
  readonly latencyChangePercent: number | null;
  readonly verdict: CellComparison['verdict'];
  readonly reasons: readonly string[];
}

/**
 * The gain of CUDA graphs, or the cost of transfers, from cells that differ in nothing else. A large gain of graphs
 * means that launching rather than computing is the limit without one. Largest gain or largest cost first.
 */
export function switchGains<Row extends SwitchedCell>(cells: readonly Row[], by: Switch) {
  const byTwinKey = Map.groupBy(cells, ({ cell }) => twinKey(cell, by));
  const twins = [...byTwinKey.values()].flatMap((same) => {
    const off = same.find(({ cell }) => cell[by] === false);
    const on = same.find(({ cell }) => cell[by] === true);
    return off === undefined || on === undefined ? [] : [{ off, on }];
  });
  const compared = compareCells(
    twins.map(({ off, on }) => ({ cellKey: on.cell.key, base: off.runsQps, head: on.runsQps, betterIs: 'higher' })),
    { sameNight: true },
  );
  const judged = new Map(compared.cells.map((comparison) => [comparison.cellKey, comparison]));
  const pairs = twins.flatMap(({ off, on }): SwitchPair<Row>[] => {
    const [before, after] = [median(off.runsQps) ?? 0, median(on.runsQps) ?? 0];
    if (before <= 0 || after <= 0) return [];
    const comparison = judged.get(on.cell.key);
    return [
      {
        without: off,
        with: on,
        gainPercent: (after / before - 1) * 100,
        latencyChangePercent: !off.latencyMs || on.latencyMs === null ? null : (on.latencyMs / off.latencyMs - 1) * 100,
        verdict: comparison?.verdict ?? 'unclear',
        reasons: comparison?.reasons ?? [],
      },
    ];
  });
  const medianPercent = median(pairs.map(({ gainPercent }) => gainPercent));
  return medianPercent === null
    ? null
    : {
        pairs: pairs.toSorted((a, b) => (b.gainPercent - a.gainPercent) * (by === 'dataTransfers' ? -1 : 1)),
        medianPercent,
      };
}

function twinKey({ key: _key, ...rest }: KeyedCell, by: Switch): string {
  return canonicalJson({ ...rest, [by]: null });
}
