/** What runs can be compared by. The direction of "worse" belongs to the metric. */
export interface Metric {
  readonly id: MetricId;
  readonly label: string;
  readonly unit: 'ms' | 'qps' | 's' | 'MiB' | '%';
  readonly betterIs: 'lower' | 'higher';
}

export const METRIC_IDS = [
  'gpuComputeMs',
  'latencyMs',
  'throughputQps',
  'p99Ms',
  'enqueueMs',
  'buildS',
  'engineMib',
  'contextMib',
  'memoryMib',
  'loadS',
  'refitMs',
  'outputErrorPercent',
] as const;

export type MetricId = (typeof METRIC_IDS)[number];

const lower = (id: MetricId, label: string, unit: Metric['unit']): Metric => ({
  id,
  label,
  unit,
  betterIs: 'lower',
});

/** To add a metric: one line here, its column in `src/store/cell-runs.ts`. */
export const METRICS: Readonly<Record<MetricId, Metric>> = {
  gpuComputeMs: lower('gpuComputeMs', 'GPU compute time', 'ms'),
  latencyMs: lower('latencyMs', 'latency', 'ms'),
  throughputQps: { id: 'throughputQps', label: 'throughput', unit: 'qps', betterIs: 'higher' },
  p99Ms: lower('p99Ms', 'latency p99', 'ms'),
  enqueueMs: lower('enqueueMs', 'enqueue time', 'ms'),
  buildS: lower('buildS', 'build time', 's'),
  engineMib: lower('engineMib', 'engine size', 'MiB'),
  contextMib: lower('contextMib', 'context memory', 'MiB'),
  memoryMib: lower('memoryMib', 'GPU memory', 'MiB'),
  loadS: lower('loadS', 'engine load time', 's'),
  refitMs: lower('refitMs', 'refit time', 'ms'),
  outputErrorPercent: lower('outputErrorPercent', 'output error', '%'),
};

/** A build has one value of these, however often its engine is run. */
const OF_BUILDS: readonly MetricId[] = ['buildS', 'engineMib', 'refitMs'];

export function isOfBuild(metric: MetricId): boolean {
  return OF_BUILDS.includes(metric);
}

/** With several streams latencies overlap and only throughput says anything. */
export function gateMetric(asked: MetricId | null, streams: number): MetricId {
  return asked ?? (streams > 1 ? 'throughputQps' : 'gpuComputeMs');
}
