import type { Cell, KeyedCell } from '../../records/cell.ts';
import { canonicalJson } from '../../text/canonical-json.ts';
import { type MetricId } from '../../records/metric.ts';

/** The same question, asked by two harnesses. */
export interface MethodPair {
  readonly base: KeyedCell;
  readonly head: KeyedCell;
}

/**
 * Cells of one side only, each with the cell of the other side that asks the same of the same model by another method.
 * Of several the one that is most like it; each cell is in one pair at most.
 */
export function pairAcrossMethods(base: readonly KeyedCell[], head: readonly KeyedCell[]): MethodPair[] {
  const inBase = new Set(base.map(({ key }) => key));
  const inHead = new Set(head.map(({ key }) => key));
  const candidates = base
    .filter(({ key }) => !inHead.has(key))
    .flatMap((cell) =>
      head
        .filter((other) => !inBase.has(other.key) && asksTheSame(cell, other))
        .map((other) => ({ base: cell, head: other, likeness: likeness(cell, other) })),
    )
    .toSorted((a, b) => b.likeness - a.likeness);
  const taken = new Set<string>();
  return candidates.flatMap((pair) => {
    if (taken.has(pair.base.key) || taken.has(pair.head.key)) return [];
    taken.add(pair.base.key).add(pair.head.key);
    return [{ base: pair.base, head: pair.head }];
  });
}

function asksTheSame(a: Cell, b: Cell): boolean {
  return (
    a.model === b.model &&
    a.precision === b.precision &&
    canonicalJson(a.shapes) === canonicalJson(b.shapes) &&
    canonicalJson(a.harness ?? null) !== canonicalJson(b.harness ?? null)
  );
}

function likeness(a: Cell, b: Cell): number {
  const alike = [
    a.cudaGraph === b.cudaGraph,
    a.dataTransfers === b.dataTransfers,
    a.streams === b.streams,
    canonicalJson(a.inputs) === canonicalJson(b.inputs),
    canonicalJson(a.axisFlags) === canonicalJson(b.axisFlags),
  ];
  return alike.filter(Boolean).length;
}

/** What both of two methods give: the metric of two harnesses that share it, else the median of the latency. */
export function sharedMetric({ base, head }: MethodPair): MetricId {
  const [a, b] = [base.harness?.metric, head.harness?.metric];
  return a !== undefined && a === b ? a : 'latencyMs';
}

/** Tails are read off by rules that differ, so that no percentile of one harness is one of another. */
export const TAIL_METRICS: readonly MetricId[] = ['p99Ms'];
