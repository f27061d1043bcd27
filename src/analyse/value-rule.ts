import type { MetricId, MetricValues } from '../domain/metrics.ts';

export interface ValuedRun {
  readonly values: MetricValues;
  /** Of the samples of the run, where it has some. */
  readonly centres: Readonly<Partial<Record<MetricId, number>>>;
}

/**
 * Which number of a run counts. Centres of samples are steadier than printed medians and lie below them: what is
 * compared is of one kind, centres only where every run has one.
 * @param runs of one cell, on all sides of what is compared
 * @returns null for a run without a positive value of that kind
 */
export function valueRule(
  runs: readonly ValuedRun[],
  metric: MetricId,
): (run: ValuedRun) => number | null {
  const valued = runs.filter(({ centres, values }) => centres[metric] ?? values[metric] ?? null);
  const haveCentres = valued.every(({ centres }) => centres[metric] !== undefined);
  return ({ centres, values }) => {
    const value = haveCentres ? centres[metric] : values[metric];
    return value !== undefined && value !== null && value > 0 ? value : null;
  };
}
