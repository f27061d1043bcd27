import { itemsPerS } from '../../records/cell.ts';
import { type CustomMetricId, METRIC_IDS, metricDefinition, type MetricId, metricOf } from '../../records/metric.ts';
import {
  environmentOf,
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
  /** A built-in measure of Bencher. */
  readonly isNative: boolean;
}

/** Bencher's own measures come first. */
const MEASURES = METRIC_IDS.flatMap((metric): Measure[] => {
  const { bencher } = metricDefinition(metric);
  if (bencher === undefined) return [];
  const { slug, nativeScale } = bencher;
  return [{ slug, metric, scale: nativeScale ?? 1, isNative: nativeScale !== undefined }];
}).toSorted((a, b) => Number(b.isNative) - Number(a.isNative));

/** Of a benchmark's name, in characters. */
const MAX_NAME = 1024;

/**
 * Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format): median, minimum and maximum over the runs
 * of each cell.
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

/** Bencher's slugs are letters, digits and dashes. */
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

/**
 * google-benchmark's JSON, one entry per run, so that its `compare.py` can test repetitions. `real_time` is the median
 * GPU compute time, `cpu_time` the median enqueue time, per query.
 */
export function googleBenchmarkJson(report: ReportedSweep) {
  const [sweep] = report.sweeps;
  return {
    context: {
      date: sweep.startedAt ?? '',
      host_name: sweep.host ?? '',
      executable: 'bench',
      library_build_type: 'release',
      matrix: sweep.matrix ?? '',
      commit: sweep.commit ?? '',
      provenance: sweep.provenance,
      tensorrt: sweep.tensorrt ?? '',
    },
    benchmarks: report.cells.flatMap((cell, family) => entriesOf(cell, family, report)),
  };
}

function entriesOf(cell: ReportedCell, family: number, { environments }: ReportedSweep) {
  const runs = measuredRuns(cell);
  return runs.flatMap(({ queries, values }, index) => {
    const { enqueueMs, gpuComputeMs, latencyMs, p99Ms, throughputQps } = values;
    if (gpuComputeMs === null) return [];
    return [
      {
        name: cell.name,
        family_index: family,
        per_family_instance_index: 0,
        run_name: cell.name,
        run_type: 'iteration',
        repetitions: runs.length,
        repetition_index: index,
        threads: 1,
        iterations: queries ?? 0,
        real_time: rounded(gpuComputeMs * 1000),
        cpu_time: rounded((enqueueMs ?? 0) * 1000),
        // `compare.py` prints whole numbers.
        time_unit: 'us',
        ...present({
          items_per_second: itemsPerS(cell.cell.shapes, throughputQps),
          throughput_qps: throughputQps,
          latency_ms: latencyMs,
          latency_p99_ms: p99Ms,
        }),
        label: environmentOf(cell, environments)?.gpuName ?? '',
      },
    ];
  });
}

function present(values: Readonly<Record<string, number | null>>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
