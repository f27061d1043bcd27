import { ensure } from '../../errors.ts';
import type { ComparedSide } from '../../judge/compare/assemble-sides.ts';
import { methodWords } from '../../judge/method.ts';
import { type Cell, type KeyedCell, cellLabel } from '../../records/cell.ts';
import { isOwnMetric, metricOf, type MetricId } from '../../records/metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { CellRun } from '../../records/run.ts';
import { canonicalJson } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { methodOf } from '../../store/runs/run-details.ts';

/** The sides with equal keys for cells that measure the same workload by different methods. */
export function acrossMethods(db: StoreDatabase, cells: readonly KeyedCell[], sides: Sides, asked: MetricId | null) {
  const { base, head } = sides;
  const why = 'bench does not compare percentiles of different harnesses, which follow different rules';
  ensure(asked !== 'p99Ms', `--metric ${asked}: ${why}`);
  const pairs = pairsOf(cells, sides);
  const baseKeys = new Map(pairs.map((pair) => [pair.head.key, pair.base.key]));
  const ofKey = new Map(pairs.flatMap((pair) => [pair.base, pair.head]).map((cell) => [cell.key, cell]));
  const latencies = (side: ComparedSide) => side.runs.map((run) => withLatency(run, ofKey.get(run.cellKey)));
  return {
    cells: cells.filter(({ key }) => !baseKeys.has(key)),
    base: { ...base, runs: latencies(base) },
    head: {
      ...head,
      runs: latencies(head).map((run) => ({ ...run, cellKey: baseKeys.get(run.cellKey) ?? run.cellKey })),
      planned: new Set([...head.planned].map((key) => baseKeys.get(key) ?? key)),
    },
    /** Metric by the key of the base cell. */
    metrics: new Map(
      pairs.map(({ base: { harness: a, key }, head: { harness: b } }): [string, MetricId] => {
        // The metric of both methods if it is the same, else the median latency.
        const shared = a?.metric === b?.metric ? a?.metric : undefined;
        return [key, asked ?? shared ?? 'latencyMs'];
      }),
    ),
    /** Differences between the two methods, printed before any number. */
    differences: [...new Set(pairs.flatMap((pair) => differencesOf(db, pair, [base, head])))],
  };
}

type Sides<Side = ComparedSide> = Readonly<Record<'base' | 'head', Side>>;

type MethodPair = Sides<KeyedCell>;

/** Pairs cells that only one side has with those of the other that measure the same workload by another method. */
export function pairsOf(cells: readonly KeyedCell[], { base, head }: Sides): MethodPair[] {
  const inBase = new Set([...base.planned, ...base.runs.map(({ cellKey }) => cellKey)]);
  const inHead = new Set([...head.planned, ...head.runs.map(({ cellKey }) => cellKey)]);
  const only = (own: Set<string>, other: Set<string>) => cells.filter(({ key }) => own.has(key) && !other.has(key));
  const byWorkload = Map.groupBy(only(inHead, inBase), workloadOf);
  const possible = only(inBase, inHead).flatMap((cell): MethodPair[] => {
    const same = byWorkload.get(workloadOf(cell)) ?? [];
    const others = same.filter(({ harness }) => canonicalJson(harness ?? null) !== canonicalJson(cell.harness ?? null));
    return others.map((other) => ({ base: cell, head: other }));
  });
  const pairs: MethodPair[] = [];
  for (const pair of possible.toSorted((a, b) => likeness(b) - likeness(a)))
    if (!pairs.some(({ base: a, head: b }) => a === pair.base || b === pair.head)) pairs.push(pair);
  return pairs;
}

function workloadOf({ model, precision, shapes }: Cell): string {
  return canonicalJson([model, precision, shapes]);
}

function likeness({ base, head }: MethodPair): number {
  const parts = ['cudaGraph', 'dataTransfers', 'streams', 'inputs', 'axisFlags'] as const;
  return parts.filter((part) => canonicalJson(base[part]) === canonicalJson(head[part])).length;
}

function differencesOf(db: StoreDatabase, pair: MethodPair, sides: readonly ComparedSide[]): string[] {
  const [a = {}, b = {}] = [pair.base, pair.head].map((cell, place): Readonly<Record<string, string>> => {
    const runs = sides[place]?.runs ?? [];
    const newest = runs.findLast(({ cellKey, role }) => cellKey === cell.key && role === 'timed');
    const method = newest === undefined ? null : methodOf(db, newest.runId, cell);
    // Options that were recorded for only one method, such as a CUDA graph, without those that always differ.
    const { harness: _, ...bare } = cell;
    const cells = printable(cellLabel({ ...bare, precisionVia: 'onnx' }));
    const own = cell.harness?.metric ?? 'latencyMs';
    const metric = isOwnMetric(own) ? 'latency' : metricOf(own).label;
    return { ...(method === null ? {} : methodWords(method)), metric, cells };
  });
  const differing = Object.keys(a).filter((name) => a[name] !== b[name]);
  return differing.map((name) => `${name}: ${a[name] ?? ''} against ${b[name] ?? ''}`);
}

/** If an application prints no latency, its own metric in milliseconds takes that place. */
function withLatency(run: CellRun, cell: KeyedCell | undefined): CellRun {
  const metric = cell?.harness?.metric;
  if (metric === undefined || (run.values.latencyMs ?? null) !== null) return run;
  const { betterIs, unit } = metricOf(metric);
  const isTime = unit === 'ms' && betterIs === 'lower';
  return isTime ? { ...run, values: { ...run.values, latencyMs: run.values[metric] ?? null } } : run;
}
