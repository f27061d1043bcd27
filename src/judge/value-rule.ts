import type { MetricId } from '../records/metric.ts';
import type { CellRun } from '../records/run.ts';
import type { RunFlag } from '../records/run-flag.ts';

/** What is known of one metric of a run: what it printed, and the centre of its samples. */
export interface MetricValue {
  readonly printed: number | null;
  readonly centre: number | null;
}

/** What is known of all metrics of a run. */
type ValuedRun = Pick<CellRun, 'values' | 'centres'>;

/**
 * Which number of runs counts. Centres of samples are steadier than printed medians and lie below them: what is
 * compared is of one kind, centres only where every run with a value has one. Numbers that are not above 0 are none.
 * @param values of one cell, on all sides of what is compared
 */
export function kindOfValues(values: readonly MetricValue[]): ValueKind {
  return values.every(({ centre, printed }) => isPositive(centre) || !isPositive(printed)) ? 'centre' : 'printed';
}

/** @returns null for a run that has no number of that kind */
export function valueOfKind(value: MetricValue, kind: ValueKind): number | null {
  return isPositive(value[kind]) ? value[kind] : null;
}

/** The same for runs with all their metrics. */
export function valueKind(runs: readonly ValuedRun[], metric: MetricId): ValueKind {
  return kindOfValues(runs.map((run) => valueIn(run, metric)));
}

/** @returns the number of that kind that a run has; null for one without */
export function valueRule(runs: readonly ValuedRun[], metric: MetricId): (run: ValuedRun) => number | null {
  const kind = valueKind(runs, metric);
  return (run) => valueOfKind(valueIn(run, metric), kind);
}

function valueIn({ values, centres }: ValuedRun, metric: MetricId): MetricValue {
  return { printed: values[metric] ?? null, centre: centres[metric] ?? null };
}

function isPositive(value: number | null): value is number {
  return value !== null && value > 0;
}

/** Which number of a run counts: the centre of its samples, or what it printed of them. */
export type ValueKind = 'centre' | 'printed';

/** One measured run, as histories need it. */
export interface NightRun extends Pick<CellRun, 'buildId' | 'cellKey' | 'environmentId' | 'smClockMhz' | 'sweepId'> {
  /** In the unit of the metric that was asked for. */
  readonly value: number;
  readonly flags: readonly Pick<RunFlag, 'id' | 'effect'>[];
}
