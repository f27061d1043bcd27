import type { MetricId } from '../records/metric.ts';
import type { CellRun } from '../records/run.ts';
import type { RunFlag } from '../records/run-flag.ts';

/** A metric of a run: the printed value, and the center of its samples. */
export interface MetricValue {
  readonly printed: number | null;
  readonly centre: number | null;
}

/** All metrics of a run. */
interface ValuedRun extends Pick<CellRun, 'centres'> {
  readonly values: Readonly<Partial<Record<MetricId, number | null>>>;
}

/**
 * Which value of runs counts. Centers of samples are steadier than printed medians and lie below them: only one kind is
 * compared, centers only where every run with a value has one. Values must be above 0.
 * @param values of one cell, on all compared sides
 */
export function kindOfValues(values: readonly MetricValue[]): ValueKind {
  return values.every(({ centre, printed }) => isPositive(centre) || !isPositive(printed)) ? 'centre' : 'printed';
}

/** @returns null for a run without such a value */
export function valueOfKind(value: MetricValue, kind: ValueKind): number | null {
  return isPositive(value[kind]) ? value[kind] : null;
}

/** For runs with all metrics. */
export function valueKind(runs: readonly ValuedRun[], metric: MetricId): ValueKind {
  const isKept = ({ centres, values }: ValuedRun): boolean =>
    isPositive(centres[metric]) || !isPositive(values[metric]);
  return runs.every(isKept) ? 'centre' : 'printed';
}

/** @returns null for a run without such a value */
export function valueRule(runs: readonly ValuedRun[], metric: MetricId): (run: ValuedRun) => number | null {
  const place = valueKind(runs, metric) === 'centre' ? 'centres' : 'values';
  return ({ [place]: numbers }) => {
    const value = numbers[metric];
    return isPositive(value) ? value : null;
  };
}

/** The values that are shown of a cell, by the same rule; 0 is one of them. */
export function valuesOf(runs: readonly ValuedRun[], metric: MetricId): number[] {
  const isCentre = valueKind(runs, metric) === 'centre';
  return runs.flatMap(({ centres, values }) => (isCentre ? centres[metric] : null) ?? values[metric] ?? []);
}

export function valueIn({ values, centres }: ValuedRun, metric: MetricId): MetricValue {
  return { printed: values[metric] ?? null, centre: centres[metric] ?? null };
}

function isPositive(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && value > 0;
}

/** The center of a run's samples, or the printed statistic. */
export type ValueKind = 'centre' | 'printed';

export interface NightRun extends Pick<
  CellRun,
  'boundBy' | 'buildId' | 'cellKey' | 'environmentId' | 'smClockMhz' | 'sweepId'
> {
  /** In the unit of the metric. */
  readonly value: number;
  readonly flags: readonly Pick<RunFlag, 'id' | 'effect'>[];
}
