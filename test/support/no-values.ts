import { byMetric, type MetricValues } from '../../src/records/metric.ts';

/** A run that has no number of any metric. */
export const NO_VALUES: MetricValues = byMetric(() => null);
