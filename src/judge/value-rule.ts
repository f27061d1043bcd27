import type { MetricId, MetricValues } from '../records/metric.ts';
import type { ValueKind } from './value-kind.ts';

export interface ValuedRun {
  readonly values: MetricValues;
  /** Of the samples of the run, where it has some. */
  readonly centres: Readonly<Partial<Record<MetricId, number>>>;
}

/**
 * Which number of runs counts. Centres of samples are steadier than printed medians and lie below them: what is
 * compared is of one kind, centres only where every run with a value has one. Numbers that are not above 0 are none.
 * @param runs of one cell, on all sides of what is compared
 */
export function valueKind(runs: readonly ValuedRun[], metric: MetricId): ValueKind {
  return runs.every(({ centres, values }) => isPositive(centres[metric]) || !isPositive(values[metric]))
    ? 'centre'
    : 'printed';
}

/** @returns the number of that kind that a run has; null for one without */
export function valueRule(runs: readonly ValuedRun[], metric: MetricId): (run: ValuedRun) => number | null {
  const kind = valueKind(runs, metric);
  return ({ centres, values }) => {
    const value = kind === 'centre' ? centres[metric] : values[metric];
    return isPositive(value) ? value : null;
  };
}

function isPositive(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && value > 0;
}
