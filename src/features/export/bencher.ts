import { type CustomMetricId, METRIC_IDS, metricDefinition, type MetricId, metricOf } from '../../records/metric.ts';
import {
  harnessMetrics,
  measuredRuns,
  type ReportedCell,
  type ReportedSweep,
  rounded,
  valueOf,
} from './reported-sweep.ts';

interface Measure {
  readonly slug: string;
  readonly metric: MetricId;
  readonly scale: number;
  /** One of Bencher's own. */
  readonly isNative: boolean;
}

/** Bencher's own measures come first. */
const MEASURES = METRIC_IDS.flatMap((metric): Measure[] => {
  const { bencher } = metricDefinition(metric);
  if (bencher === undefined) return [];
  const { slug, nativeScale } = bencher;
  return [{ slug, metric, scale: nativeScale ?? 1, isNative: nativeScale !== undefined }];
}).toSorted((a, b) => Number(b.isNative) - Number(a.isNative));

/** Of a name of a benchmark, in characters. */
const MAX_NAME = 1024;

/**
 * Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format): the median of the runs of each cell, with
 * the least and the largest.
 */
export function bencherJson({ cells }: ReportedSweep) {
  const measures = [...MEASURES, ...harnessMetrics(cells).map(measureOf)];
  return Object.fromEntries(
    cells
      .map((cell) => [nameOf(cell), measuresOf(cell, measures)] as const)
      .filter(([, values]) => Object.keys(values).length > 0),
  );
}

function nameOf({ cell, name }: ReportedCell): string {
  if (name.length <= MAX_NAME) return name;
  const end = `… ${cell.key.slice(0, 8)}`;
  return `${name.slice(0, MAX_NAME - end.length)}${end}`.toWellFormed();
}

/** A slug of Bencher is letters, digits and dashes. */
function measureOf(metric: CustomMetricId): Measure {
  const { label, unit } = metricOf(metric);
  const slug = `${label}-${unit}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return { slug: slug.replaceAll(/^-|-$/g, ''), metric, scale: 1, isNative: false };
}

function measuresOf(cell: ReportedCell, measures: readonly Measure[]) {
  return Object.fromEntries(
    measures.flatMap(({ metric, scale, slug }) => {
      const value = valueOf(cell, metric);
      if (value === null) return [];
      const all = measuredRuns(cell).flatMap(({ values }) => values[metric] ?? []);
      const ends = { lower_value: rounded(Math.min(...all) * scale), upper_value: rounded(Math.max(...all) * scale) };
      return [[slug, { value: rounded(value * scale), ...(all.length > 1 ? ends : {}) }]];
    }),
  );
}
