import { UsageError } from '../../errors.ts';
import type { ComparedSide } from '../../judge/compare/assemble-sides.ts';
import { methodWords } from '../../judge/method.ts';
import type { Cell, KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { CellRun } from '../../records/run.ts';
import { methodOf } from '../../store/runs/run-facts.ts';
import { canonicalJson } from '../../text/canonical-json.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';

export interface Paired {
  readonly head: ComparedSide;
  readonly cells: readonly KeyedCell[];
  /** By the key of the base cell. */
  readonly metrics: ReadonlyMap<string, MetricId>;
  /** Differences between the two methods, printed before any number. */
  readonly differences: readonly string[];
}

type RunSide = Omit<ComparedSide, 'runs'> & { readonly runs: readonly CellRun[] };

/** Maps cells of head to those of base that another method measured, so that they can be compared. */
export function acrossMethods(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  base: RunSide,
  head: RunSide,
  requested: MetricId | null,
): Paired {
  if (requested !== null && TAIL_METRICS.includes(requested)) {
    throw new UsageError(
      `--metric ${requested}: the tails of two methods are never compared, as their percentiles follow different rules`,
    );
  }
  const pairs = pairsOf(cells, base, head);
  const baseKeys = new Map(pairs.map((pair) => [pair.head.key, pair.base.key]));
  return {
    cells: cells.filter(({ key }) => !baseKeys.has(key)),
    head: {
      ...head,
      runs: head.runs.map((run) => ({ ...run, cellKey: baseKeys.get(run.cellKey) ?? run.cellKey })),
      planned: new Set([...head.planned].map((key) => baseKeys.get(key) ?? key)),
    },
    metrics: new Map(pairs.map((pair) => [pair.base.key, requested ?? sharedMetric(pair)])),
    differences: [...new Set(pairs.flatMap((pair) => differencesOf(db, pair, base, head)))],
  };
}

/** The pairs of cells that differ only in method. */
export function pairsOf(cells: readonly KeyedCell[], base: ComparedSide, head: ComparedSide): MethodPair[] {
  const on = ({ planned, runs }: ComparedSide): KeyedCell[] => {
    const keys = new Set([...planned, ...runs.map(({ cellKey }) => cellKey)]);
    return cells.filter(({ key }) => keys.has(key));
  };
  return pairAcrossMethods(on(base), on(head));
}

function differencesOf(db: StoreDatabase, pair: MethodPair, base: RunSide, head: RunSide): string[] {
  const [a, b] = [methodWordsOf(db, pair.base, base), methodWordsOf(db, pair.head, head)];
  const differing = Object.keys(a).filter((name) => a[name] !== b[name]);
  // Options that only one of the two records, such as a CUDA graph.
  const [was, is] = [bareLabel(pair.base), bareLabel(pair.head)];
  return [
    ...differing.map((name) => `${name}: ${a[name] ?? ''} against ${b[name] ?? ''}`),
    ...(was === is ? [] : [`cells: ${printable(was)} against ${printable(is)}`]),
  ];
}

function methodWordsOf(db: StoreDatabase, cell: KeyedCell, { runs }: RunSide): Readonly<Record<string, string>> {
  const newest = runs.findLast(({ cellKey, role }) => cellKey === cell.key && role === 'timed');
  const method = newest === undefined ? null : methodOf(db, newest.runId, cell);
  return method === null ? {} : methodWords(method);
}

/** The label without the parts that always differ between methods. */
function bareLabel(cell: KeyedCell): string {
  const { harness: _, ...bare } = cell;
  return cellLabel({ ...bare, precisionVia: 'onnx' });
}

/** The same workload measured by two harnesses. */
interface MethodPair {
  readonly base: KeyedCell;
  readonly head: KeyedCell;
}

/**
 * Pairs cells that only one side has with cells of the other side that measure the same workload of the same model by
 * another method. The most similar pair wins, and each cell is in at most one pair.
 */
function pairAcrossMethods(base: readonly KeyedCell[], head: readonly KeyedCell[]): MethodPair[] {
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
  const matches = [
    a.cudaGraph === b.cudaGraph,
    a.dataTransfers === b.dataTransfers,
    a.streams === b.streams,
    canonicalJson(a.inputs) === canonicalJson(b.inputs),
    canonicalJson(a.axisFlags) === canonicalJson(b.axisFlags),
  ];
  return matches.filter(Boolean).length;
}

/** The metric of both methods if it is the same, else the median latency. */
function sharedMetric({ base, head }: MethodPair): MetricId {
  const [a, b] = [base.harness?.metric, head.harness?.metric];
  return a !== undefined && a === b ? a : 'latencyMs';
}

/** Percentile rules differ between harnesses, so their tails are not comparable. */
const TAIL_METRICS: readonly MetricId[] = ['p99Ms'];
