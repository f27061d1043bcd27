import { type KeyedCell } from '../domain/cell.ts';
import { canonicalJson } from '../domain/canonical-json.ts';
import { median } from '../domain/median.ts';

interface MeasuredCell {
  readonly cell: KeyedCell;
  readonly throughputQps: number | null;
}

/** The same cell with a CUDA graph and without. */
export interface GraphPair {
  readonly without: KeyedCell;
  readonly with: KeyedCell;
  /** More queries a second with the graph, in percent. */
  readonly gainPercent: number;
}

export interface GraphGains {
  /** The largest gain first. */
  readonly pairs: readonly GraphPair[];
  readonly medianPercent: number;
}

/**
 * What CUDA graphs gain, from cells that differ in nothing else: a large gain means that launching, not computing, is
 * the limit without one.
 */
export function graphGains(cells: readonly MeasuredCell[]): GraphGains | null {
  const alike = Map.groupBy(cells, ({ cell }) => twinKey(cell));
  const pairs = [...alike.values()].flatMap((twins): GraphPair[] => {
    const off = twins.find(({ cell }) => !cell.cudaGraph);
    const on = twins.find(({ cell }) => cell.cudaGraph);
    const [before, after] = [off?.throughputQps ?? 0, on?.throughputQps ?? 0];
    if (off === undefined || on === undefined || before <= 0 || after <= 0) return [];
    const gainPercent = (after / before - 1) * 100;
    return [{ without: off.cell, with: on.cell, gainPercent }];
  });
  const medianPercent = median(pairs.map(({ gainPercent }) => gainPercent));
  return medianPercent === null
    ? null
    : { pairs: pairs.toSorted((a, b) => b.gainPercent - a.gainPercent), medianPercent };
}

function twinKey({ key: _key, cudaGraph: _graph, ...rest }: KeyedCell): string {
  return canonicalJson(rest);
}
