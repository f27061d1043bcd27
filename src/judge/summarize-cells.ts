import { type CellRun, isMeasured } from '../records/run.ts';
import type { Environment } from '../records/environment.ts';
import { itemsPerS, type KeyedCell } from '../records/cell.ts';
import { isFine, outcomeReason, type Outcome } from '../records/outcome.ts';
import type { RunFlag } from '../records/run-flag.ts';
import { precisionShare, type RealPrecision } from '../layers/real-precision.ts';
import { boundOf, withGraphGain } from './bound.ts';
import { leftOutFor } from './run-trust.ts';
import { switchGains } from './switch-pairs.ts';
import { median } from '../statistics/median.ts';
import { valuesOf } from './value-rule.ts';

type SummarizedRun = Pick<
  CellRun,
  'boundBy' | 'cellKey' | 'centres' | 'derivedQps' | 'environmentId' | 'flags' | 'outcome' | 'role' | 'values'
>;

/** Summaries in the order of the cells. */
export function summarizeCells(
  cells: readonly KeyedCell[],
  runs: readonly SummarizedRun[],
  withoutEngine: ReadonlyMap<string, Outcome>,
  real: ReadonlyMap<string, RealPrecision>,
  leastShare: number,
  environments: ReadonlyMap<string, Environment>,
  tuned: ReadonlyMap<string, number>,
) {
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const summaries = cells.map((cell) => {
    const all = byCell.get(cell.key) ?? [];
    const measured = all.filter(isMeasured);
    const timed = all.filter(({ role }) => role === 'timed');
    // GPU compute time even with several streams, because the table shows its spread next to it.
    const metric = cell.harness?.metric ?? 'gpuComputeMs';
    const values = valuesOf(measured, metric);
    const low = Math.min(...values);
    const counted = measured.flatMap((run) => run.values.throughputQps ?? []);
    const derived = measured.flatMap(({ derivedQps }) => derivedQps ?? []);
    const throughputQps = median(counted.length > 0 ? counted : derived);
    const trusted = measured.filter(({ flags }) => leftOutFor(flags, 'throughputQps') === null);
    const trustedQps = trusted.flatMap((run) => run.values.throughputQps ?? []);
    const isDerived = counted.length === 0 && derived.length > 0;
    return {
      cell,
      measured: measured.length,
      metric,
      value: median(values),
      gpuComputeMs: median(valuesOf(measured, 'gpuComputeMs')),
      latencyMs: median(valuesOf(measured, 'latencyMs')),
      throughputQps,
      throughputFrom: isDerived ? ('medianLatency' as const) : ('counted' as const),
      // As in comparisons, host-bound runs do not count, because they do not show the gain of a graph.
      runsQps: counted.length > 0 ? trustedQps : trusted.flatMap(({ derivedQps }) => derivedQps ?? []),
      itemsPerS: itemsPerS(cell.shapes, throughputQps),
      p99Ms: median(valuesOf(measured, 'p99Ms')),
      tunedBatch: tuned.get(cell.key) ?? null,
      spreadPercent: values.length < 2 ? null : (Math.max(...values) / low - 1) * 100,
      precisionShare: precisionShare(cell, real.get(cell.key) ?? null, leastShare),
      noEngine: withoutEngine.get(cell.key) ?? null,
      others: otherOutcomes(all),
      bound: boundOf(
        cell,
        measured.length > 0 ? measured : timed,
        environments.get(timed[0]?.environmentId ?? '')?.gpuName,
      ),
      flags: countFlags(timed.flatMap(({ flags }) => flags)),
    };
  });
  const pairs = switchGains(summaries, 'cudaGraph')?.pairs ?? [];
  const gains = new Map(pairs.map(({ without, gainPercent }) => [without.cell.key, gainPercent]));
  return summaries.map((summary) => ({
    ...summary,
    bound: withGraphGain(summary.bound, gains.get(summary.cell.key) ?? Number.POSITIVE_INFINITY),
  }));
}

function countFlags(flags: readonly RunFlag[]) {
  const byKind = Map.groupBy(flags, ({ id, effect }) => `${id} ${effect}`);
  return [...byKind.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const { id, effect, evidence } = first;
    return [{ id, effect, evidence, times: same.length }];
  });
}

function otherOutcomes(runs: readonly Pick<SummarizedRun, 'role' | 'outcome'>[]) {
  const others = runs.filter(({ outcome }) => !isFine(outcome));
  const byReason = Map.groupBy(others, ({ role, outcome }) => [role, outcome.kind, outcomeReason(outcome)].join(' '));
  return [...byReason.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [{ role: first.role, outcome: first.outcome, times: same.length }];
  });
}
