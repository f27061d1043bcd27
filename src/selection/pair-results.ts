import type { GateRules, PairResult } from '../judge/gate/evidence.ts';
import {
  doesNotLoad,
  fitPairRuns,
  isSameEngine,
  judgePairs,
  judgeSameEngine,
  nextPairRun,
  pairsAmong,
  runSigma,
  sideOf,
} from '../judge/gate/judge-pairs.ts';
import { leftOutFor } from '../judge/run-trust.ts';
import { valueRule } from '../judge/value-rule.ts';
import { BOUND_SHARES, type PlannedPairs, isBoundShare, isJudgedOnly } from '../records/gated-metric.ts';
import type { MetricId } from '../records/metric.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import type { CellKey, SweepId } from '../records/scalars.ts';
import type { Sweep } from '../records/sweep.ts';
import { median } from '../statistics/order-statistics.ts';
import { cellRunsOf, pairRunsOf } from '../store/runs/cell-runs.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { plannedPairsOf } from '../store/sweeps/sweeps.ts';

/** Number of sweeps for the run noise of a cell. */
const NOISE_SWEEPS = 30;

type PairRules = Pick<GateRules, 'minChangeOf'>;

/**
 * Results of the pairs measured after a sweep; null if none were planned. Omits suspects that were not reached.
 * @param sweeps sweeps of the series, oldest first; the pairs belong to the last one
 */
export function pairResultsOf(db: StoreDatabase, sweeps: readonly Pick<Sweep, 'sweepId'>[], rules: PairRules) {
  const sweepId = sweeps.at(-1)?.sweepId ?? '';
  const planned = plannedPairsOf(db, sweepId);
  if (planned === null) return null;
  const runs = Map.groupBy(pairRunsOf(db, sweepId), ({ cellKey }) => cellKey);
  const sweepIds = sweeps.slice(-1 - NOISE_SWEEPS).map((sweep) => sweep.sweepId);
  const keys = planned.map(({ cellKey }) => cellKey);
  const past = pastRuns(db, sweepIds, keys);
  return planned.flatMap((pairs) => resultOf(pairs, runs.get(pairs.cellKey) ?? [], past, rules) ?? []);
}

type PastRuns = ReturnType<typeof pastRuns>;

/** Earlier runs of the suspects. @param sweepIds oldest first */
function pastRuns(db: StoreDatabase, sweepIds: readonly SweepId[], keys: readonly CellKey[]) {
  const measured = (ids: readonly SweepId[], cells?: readonly CellKey[]) =>
    Map.groupBy(cellRunsOf(db, ids, cells).filter(isMeasured), ({ cellKey }) => cellKey);
  // Runs of every cell in the newest sweep are for the noise of a cell with too few runs.
  return { sweepIds, ofCells: measured(sweepIds, keys), newest: measured(sweepIds.slice(-1)) };
}

function resultOf(
  planned: PlannedPairs,
  runs: readonly CellRun[],
  past: PastRuns,
  rules: PairRules,
): PairResult | null {
  const { cellKey, isUnsteady, metric, problem } = planned;
  const nothing = { cellKey, metric, count: 0, agreeing: 0, changePercent: 0, outcome: 'notComparable' } as const;
  if (problem !== null) return nothing;
  // The next resume measures the missing runs.
  if (nextPairRun(planned, runs) !== null) return null;
  const fit = fitPairRuns(planned, runs);
  const seen = isJudgedOnly(metric) ? boundValues(metric) : measuredValues(metric, planned, fit, past);
  if (seen === null) return null;
  const { before, now, sigma, valueOf } = seen;
  if (isSameEngine(planned)) return { cellKey, metric, ...judgeSameEngine(valuesIn(fit, valueOf), { before, now }) };
  if (doesNotLoad(runs)) return nothing;
  // One engine key: same sources, GPU and TensorRT.
  const keys = new Set(fit.map(({ engineKey }) => engineKey));
  const isSameSources = keys.size === 1 && !keys.has(null);
  const minChangePercent = rules.minChangeOf(cellKey, metric);
  const pairs = pairsAmong(fit, valueOf);
  const measured = { pairs, sigma, before, now, isUnsteady, isSameSources, minChangePercent };
  return { cellKey, metric, ...judgePairs(measured) };
}

type ValueOf = (run: CellRun) => number | null;

function valuesIn(runs: readonly CellRun[], valueOf: ValueOf): number[] {
  return runs.flatMap((run) => valueOf(run) ?? []);
}

/** How to read the values of a suspect's metric, and its values before the pairs: the expected level and its noise. */
function measuredValues(
  metric: MetricId,
  { cellKey, lastGoodSweepId }: PlannedPairs,
  fit: readonly CellRun[],
  { newest, ofCells, sweepIds }: PastRuns,
) {
  const own = (ofCells.get(cellKey) ?? []).filter(({ flags }) => leftOutFor(flags, metric) === null);
  const valueOf = valueRule([...own, ...fit], metric);
  const byId = Map.groupBy(own, ({ sweepId }) => sweepId);
  const bySweep = sweepIds.map((id) => valuesIn(byId.get(id) ?? [], valueOf));
  const measured = bySweep.filter((values) => values.length > 0);
  const before = median(bySweep[sweepIds.indexOf(lastGoodSweepId)] ?? []);
  const now = median(measured.at(-1) ?? []);
  if (before === null || now === null) return null;
  const sides = [...Map.groupBy(fit, ({ repeat }) => sideOf(repeat)).values()].map((runs) => valuesIn(runs, valueOf));
  const others = [...newest.values()].map((runs) => valuesIn(runs, valueRule(runs, metric)));
  return { valueOf, before, now, sigma: runSigma(measured, [...others, ...sides]) };
}

/** A run either has a bottleneck or not, so its values are 2 or 1 without noise. Other gate metrics need no pairs. */
function boundValues(metric: PlannedPairs['metric']) {
  if (!isBoundShare(metric)) return null;
  return { valueOf: ({ boundBy }: CellRun) => (boundBy === BOUND_SHARES[metric] ? 2 : 1), before: 1, now: 2, sigma: 0 };
}
