import type { MetricId } from '../records/metric.ts';
import type { RunFlag } from '../records/outcome.ts';
import type { CellRun } from '../records/run.ts';

/** The centers of the samples of runs, or the printed statistics. */
export type ValueKind = 'centres' | 'values';

type ValuedRun = Pick<CellRun, 'centres'> & { readonly values: CellRun['centres'] };

/** The kind of values that count. Values must be above 0. */
export function valueKind(runs: readonly ValuedRun[], metric: MetricId): ValueKind {
  const isKept = ({ centres, values }: ValuedRun): boolean =>
    (centres[metric] ?? 0) > 0 || !((values[metric] ?? 0) > 0);
  return runs.every(isKept) ? 'centres' : 'values';
}

export function valueRule(runs: readonly ValuedRun[], metric: MetricId) {
  const kind = valueKind(runs, metric);
  return ({ [kind]: numbers }: ValuedRun): number | null => {
    const value = numbers[metric] ?? 0;
    return value > 0 ? value : null;
  };
}

/** The values to show for a cell, by the same rule; includes 0. */
export function valuesOf(runs: readonly ValuedRun[], metric: MetricId): number[] {
  const isCentre = valueKind(runs, metric) === 'centres';
  return runs.flatMap(({ centres, values }) => (isCentre ? centres[metric] : null) ?? values[metric] ?? []);
}

/** Throughputs as the harness counted them, else computed from median latencies. */
export function throughputsOf(runs: readonly Pick<CellRun, 'derivedQps' | 'values'>[]) {
  const counted = runs.flatMap(({ values }) => values.throughputQps ?? []);
  const derived = runs.flatMap(({ derivedQps }) => derivedQps ?? []);
  return counted.length > 0 || derived.length === 0
    ? { runsQps: counted, throughputFrom: 'counted' as const }
    : { runsQps: derived, throughputFrom: 'medianLatency' as const };
}

export interface SweepRun extends Pick<
  CellRun,
  'boundBy' | 'buildId' | 'cellKey' | 'environmentId' | 'runId' | 'smClockMhz' | 'sweepId'
> {
  readonly value: number;
  readonly flags: readonly Pick<RunFlag, 'id' | 'effect'>[];
}
