import type { KeyedCell } from '../records/cell.ts';
import { gateMetric, type MetricId, metricOf } from '../records/metric.ts';
import { outcomeReason, type Outcome } from '../records/outcome.ts';
import type { AbSides } from './judge-experiment.ts';
import { fitSide, type FlaggedRun } from './compare/side-flags.ts';
import { type ValuedRun, valueRule } from './value-rule.ts';

/** A run of an experiment. */
export interface AbRun extends FlaggedRun, ValuedRun {
  readonly cellKey: string;
  readonly role: string;
  readonly outcome: Outcome;
}

export interface AssembledPair {
  readonly sides: AbSides;
  readonly metric: MetricId;
  /** Runs that do not count, and why. */
  readonly reasons: readonly string[];
}

/** The runs of A and B of one cell. What bars B from baselines is what the experiment is about. */
export function abSides(cell: KeyedCell, bKey: string, asked: MetricId | null, runs: readonly AbRun[]): AssembledPair {
  const metric = gateMetric(asked, cell);
  const [a, b] = [sideOf(cell.key, metric, runs), sideOf(bKey, metric, runs)];
  const valueOf = valueRule([...a.kept, ...b.kept], metric);
  const valuesOf = (kept: readonly AbRun[]): number[] => kept.flatMap((run) => valueOf(run) ?? []);
  return {
    sides: {
      cellKey: cell.key,
      a: valuesOf(a.kept),
      b: valuesOf(b.kept),
      betterIs: metricOf(metric).betterIs,
      doubt: Math.hypot(a.doubt, b.doubt),
    },
    metric,
    reasons: [...a.problems.map((problem) => `A: ${problem}`), ...b.problems.map((problem) => `B: ${problem}`)],
  };
}

function sideOf(cellKey: string, metric: MetricId, runs: readonly AbRun[]) {
  const timed = runs
    .filter((run) => run.cellKey === cellKey && run.role === 'timed')
    .map((run) => ({ ...run, flags: run.flags.filter(({ effect }) => effect !== 'barred') }));
  const { doubt, kept, leftOut } = fitSide(timed, metric, null);
  const others = timed.filter(({ outcome }) => outcome.kind !== 'measured');
  const why = new Set(others.map(({ outcome }) => outcomeReason(outcome) ?? outcome.kind));
  const lost = others.length === 0 ? [] : [`${others.length} of ${timed.length} runs: ${[...why].join(', ')}`];
  return { doubt, kept, problems: [...leftOut, ...(timed.length === 0 ? ['no run'] : lost)] };
}
