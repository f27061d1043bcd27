import type { GateRules, PairResult } from '../judge/gate/evidence.ts';
import {
  doesNotLoad,
  fitPairRuns,
  isSameEngine,
  judgePairs,
  judgeSameEngine,
  nextPairRun,
  pairsAmong,
  runSigmas,
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

/** Number of sweeps for the run noise of a cell; `LEVEL_SWEEPS` is the number for its level. */
const NOISE_SWEEPS = 30;
const LEVEL_SWEEPS = 7;

/**
 * Results of the pairs measured after a sweep; null if none were planned. Omits suspects that were not reached.
 * @param sweeps sweeps of the series, oldest first; the pairs belong to the last one
 */
export function pairResultsOf(
  db: StoreDatabase,
  sweeps: readonly Pick<Sweep, 'sweepId'>[],
  rules: Pick<GateRules, 'minChangeOf'>,
): PairResult[] | null {
  const sweepId = sweeps.at(-1)?.sweepId ?? '';
  const planned = plannedPairsOf(db, sweepId);
  if (planned === null) return null;
  const runs = Map.groupBy(pairRunsOf(db, sweepId), ({ cellKey }) => cellKey);
  const before = sweeps.slice(-1 - NOISE_SWEEPS).map((sweep) => sweep.sweepId);
  const keys = planned.map(({ cellKey }) => cellKey);
  const past = new PastRuns(db, before, keys);
  return planned.flatMap((pairs) => resultOf(pairs, runs.get(pairs.cellKey) ?? [], past, rules) ?? []);
}

class PastRuns {
  private readonly sweepIds: readonly SweepId[];
  private readonly ofCells: ReadonlyMap<CellKey, readonly CellRun[]>;
  /** Runs of every cell in the newest sweep, for the noise of a cell with too few runs. */
  private readonly newest: ReadonlyMap<CellKey, readonly CellRun[]>;

  constructor(db: StoreDatabase, sweepIds: readonly SweepId[], cellKeys: readonly CellKey[]) {
    this.sweepIds = sweepIds;
    this.ofCells = Map.groupBy(cellRunsOf(db, sweepIds, cellKeys).filter(isMeasured), ({ cellKey }) => cellKey);
    this.newest = Map.groupBy(cellRunsOf(db, sweepIds.slice(-1)).filter(isMeasured), ({ cellKey }) => cellKey);
  }

  /** The runs of a cell that count for a metric. */
  runsOf(cellKey: CellKey, metric: MetricId): readonly CellRun[] {
    return (this.ofCells.get(cellKey) ?? []).filter(({ flags }) => leftOutFor(flags, metric) === null);
  }

  /** @param valueOf selects the value of a run that counts */
  valuesOf(
    cellKey: CellKey,
    metric: MetricId,
    valueOf: (run: CellRun) => number | null,
  ): ReadonlyMap<SweepId, readonly number[]> {
    const runs = Map.groupBy(this.runsOf(cellKey, metric), ({ sweepId }) => sweepId);
    return new Map(
      this.sweepIds.flatMap((id) => {
        const values = (runs.get(id) ?? []).flatMap((run) => valueOf(run) ?? []);
        return values.length === 0 ? [] : [[id, values] as const];
      }),
    );
  }

  /** @param pairs values of runs of either engine */
  sigmaOf(
    cellKey: CellKey,
    own: ReadonlyMap<SweepId, readonly number[]>,
    metric: MetricId,
    pairs: readonly (readonly number[])[],
  ): number {
    const others = [...this.newest].map(([key, runs]): [CellKey, number[][]] => {
      const valueOf = valueRule(runs, metric);
      return [key, [runs.flatMap((run) => valueOf(run) ?? [])]];
    });
    const cells = new Map<CellKey, readonly (readonly number[])[]>([...others, [cellKey, [...own.values()]]]);
    return runSigmas(cells, pairs)(cellKey);
  }

  /** Level from up to seven sweeps that end with the last good one. */
  levelOf(own: ReadonlyMap<SweepId, readonly number[]>, lastGood: SweepId): number | null {
    const until = this.sweepIds.slice(0, this.sweepIds.indexOf(lastGood) + 1).slice(-LEVEL_SWEEPS);
    return median(until.flatMap((id) => median(own.get(id) ?? []) ?? []));
  }
}

function resultOf(
  planned: PlannedPairs,
  runs: readonly CellRun[],
  past: PastRuns,
  rules: Pick<GateRules, 'minChangeOf'>,
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
  if (isSameEngine(planned)) {
    const again = fit.flatMap((run) => valueOf(run) ?? []);
    return { metric, ...judgeSameEngine(again, { cellKey, before, now }) };
  }
  if (doesNotLoad(runs)) return nothing;
  const judged = judgePairs({
    cellKey,
    pairs: pairsAmong(fit, valueOf),
    sigma,
    before,
    now,
    isUnsteady,
    isSameSources: isOneKey(fit),
    minChangePercent: rules.minChangeOf(cellKey, metric),
  });
  return { metric, ...judged };
}

/** How to read the values of a suspect's metric, and its values before the pairs. */
interface SeenValues {
  readonly valueOf: (run: CellRun) => number | null;
  /** The expected level; `now` is the value of the sweep. */
  readonly before: number;
  readonly now: number;
  /** Standard deviation of a run on the log scale. */
  readonly sigma: number;
}

function measuredValues(
  metric: MetricId,
  { cellKey, lastGoodSweepId }: PlannedPairs,
  fit: readonly CellRun[],
  past: PastRuns,
): SeenValues | null {
  const valueOf = valueRule([...past.runsOf(cellKey, metric), ...fit], metric);
  const values = past.valuesOf(cellKey, metric, valueOf);
  const before = past.levelOf(values, lastGoodSweepId);
  const now = median([...values.values()].at(-1) ?? []);
  if (before === null || now === null) return null;
  const sides = [...Map.groupBy(fit, ({ repeat }) => sideOf(repeat)).values()];
  const pairs = sides.map((runs) => runs.flatMap((run) => valueOf(run) ?? []));
  return { valueOf, before, now, sigma: past.sigmaOf(cellKey, values, metric, pairs) };
}

/** A run either has a bottleneck or not, so its values are 2 or 1 without noise. Other gate metrics need no pairs. */
function boundValues(metric: PlannedPairs['metric']): SeenValues | null {
  if (!isBoundShare(metric)) return null;
  return { valueOf: ({ boundBy }) => (boundBy === BOUND_SHARES[metric] ? 2 : 1), before: 1, now: 2, sigma: 0 };
}

/** Whether all runs have one engine key: same sources, GPU and TensorRT. */
function isOneKey(runs: readonly CellRun[]): boolean {
  const keys = new Set(runs.map(({ engineKey }) => engineKey));
  return keys.size === 1 && !keys.has(null);
}
