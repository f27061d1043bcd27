import { NEIGHBOR } from '../records/axis.ts';
import { type KeyedCell, itemsPerS } from '../records/cell.ts';
import type { Environment } from '../records/environment.ts';
import { type Outcome, outcomeReason } from '../records/outcome.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import { median } from '../statistics/order-statistics.ts';
import { canonicalJson } from '../text/canonical-json.ts';
import { boundOf } from './bound.ts';
import { compareCells } from './compare/compare-cells.ts';
import { isStarved, leftOutFor } from './run-trust.ts';
import { throughputsOf, valuesOf } from './value-rule.ts';
import { type RealPrecision, precisionShare } from '../layers/real-precision.ts';

export function summarizeCells(
  cells: readonly KeyedCell[],
  runs: readonly CellRun[],
  withoutEngine: ReadonlyMap<string, Outcome>,
  real: ReadonlyMap<string, RealPrecision>,
  leastShare: number,
  environments: ReadonlyMap<string, Environment>,
  tuned: ReadonlyMap<string, number>,
) {
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  return cells.map((cell) => {
    const all = byCell.get(cell.key) ?? [];
    const noEngine = withoutEngine.get(cell.key);
    const measured = all.filter(isMeasured);
    const others = all.flatMap(({ outcome, role }) => {
      const { kind } = outcome;
      return kind === 'failed' || kind === 'unfit' ? [{ role, kind, reason: outcomeReason(outcome) }] : [];
    });
    const timed = all.filter(({ role }) => role === 'timed');
    const flags = timed.flatMap((run) => run.flags.map(({ id, effect, evidence }) => ({ id, effect, evidence })));
    // GPU compute time even with several streams, because the table shows its spread next to it.
    const metric = cell.harness?.metric ?? 'gpuComputeMs';
    const values = valuesOf(measured, metric);
    const { runsQps, throughputFrom } = throughputsOf(measured);
    const throughputQps = median(runsQps);
    const trusted = measured.filter((run) => leftOutFor(run.flags, 'throughputQps') === null && !isStarved(run));
    return {
      cell,
      measured: measured.length,
      metric,
      value: median(values),
      gpuComputeMs: median(valuesOf(measured, 'gpuComputeMs')),
      latencyMs: median(valuesOf(measured, 'latencyMs')),
      throughputQps,
      throughputFrom,
      // Runs in which the host starved the GPU do not count, because they do not show the gain of a graph.
      runsQps: trusted.flatMap(
        (run) => (throughputFrom === 'counted' ? run.values.throughputQps : run.derivedQps) ?? [],
      ),
      itemsPerS: itemsPerS(cell.shapes, throughputQps),
      p99Ms: median(valuesOf(measured, 'p99Ms')),
      tunedBatch: tuned.get(cell.key) ?? null,
      spreadPercent: values.length < 2 ? null : (Math.max(...values) / Math.min(...values) - 1) * 100,
      precisionShare: precisionShare(cell, real.get(cell.key) ?? null, leastShare),
      bound: boundOf(cell, measured, environments.get(timed[0]?.environmentId ?? '')),
      flags: counted(flags, ({ id, effect }) => `${id} ${effect}`),
      noEngine: noEngine === undefined ? null : outcomeReason(noEngine),
      others: counted(others, ({ role, kind, reason }) => `${role} ${kind} ${reason}`),
    };
  });
}

/** The first item of each kind, with the number of its kind. */
function counted<Item>(items: readonly Item[], kindOf: (item: Item) => string) {
  return [...Map.groupBy(items, kindOf).values()].flatMap((same) =>
    same.slice(0, 1).map((first) => ({ ...first, times: same.length })),
  );
}

export type SwitchedCell = Readonly<{ cell: KeyedCell; latencyMs: number | null; runsQps: readonly number[] }>;

/** A CUDA graph, copies of inputs and outputs, a neighbor on the GPU (`with`), or another runtime than the full one. */
export type Switch = 'cudaGraph' | 'dataTransfers' | 'neighbor' | 'runtime';

/** The gain of CUDA graphs, or the cost of another switch, from cells that differ in nothing else. */
export function switchGains<Row extends SwitchedCell>(cells: readonly Row[], by: Switch) {
  const setting = by === 'neighbor' ? NEIGHBOR : by === 'runtime' ? '--useRuntime' : by;
  // A flag that is on no axis is off.
  const settingOf = ({ cell: { axisFlags, ...rest } }: Row): unknown =>
    new Map<string, unknown>(Object.entries({ [setting]: false, ...rest, ...axisFlags })).get(setting);
  const byTwinKey = Map.groupBy(cells, ({ cell: { key: _key, axisFlags, ...rest } }) =>
    canonicalJson({ ...rest, [setting]: null, axisFlags: { ...axisFlags, [setting]: null } }),
  );
  const twins = [...byTwinKey.values()].flatMap((same) => {
    const off = same.find((row) => settingOf(row) === false);
    const withIt = same.filter((row) => (settingOf(row) ?? false) !== false);
    return off === undefined ? [] : withIt.map((on) => ({ off, on }));
  });
  const compared = compareCells(
    twins.map(({ off, on }) => ({ cellKey: on.cell.key, base: off.runsQps, head: on.runsQps, betterIs: 'higher' })),
    { sameSweep: true },
  );
  const judged = new Map(compared.cells.map((comparison) => [comparison.cellKey, comparison]));
  const pairs = twins.flatMap(({ off, on }) => {
    const [before, after] = [median(off.runsQps) ?? 0, median(on.runsQps) ?? 0];
    if (before <= 0 || after <= 0) return [];
    const { changePercent = null, ciPercent = null, reasons = [], verdict = 'unclear' } = judged.get(on.cell.key) ?? {};
    const gainPercent = changePercent ?? (after / before - 1) * 100;
    /** Of the median latency; below 0 when it is shorter with the switch. */
    const latencyChangePercent =
      !off.latencyMs || on.latencyMs === null ? null : (on.latencyMs / off.latencyMs - 1) * 100;
    return [{ without: off, with: on, gainPercent, ciPercent, latencyChangePercent, verdict, reasons }];
  });
  const medianPercent = median(pairs.map(({ gainPercent }) => gainPercent));
  if (medianPercent === null) return null;
  const side = by === 'cudaGraph' ? 1 : -1;
  return { medianPercent, pairs: pairs.toSorted((a, b) => (b.gainPercent - a.gainPercent) * side) };
}
