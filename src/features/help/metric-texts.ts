import { isOwnMetric, METRIC_IDS, metricDefinition, type OwnMetricId } from '../../records/metric.ts';

export interface MetricText {
  readonly word: string;
  readonly label: string;
  readonly unit: string;
  readonly source: string;
  readonly says: string;
  readonly caveats: string;
}

const SHOWN_ONLY = ['hostWalltimeS', 'gpuTotalS', 'percentiles'] as const;

export type ExplainedNumber = OwnMetricId | (typeof SHOWN_ONLY)[number];

export const EXPLAINED_NUMBERS: readonly ExplainedNumber[] = [...METRIC_IDS, ...SHOWN_ONLY];

const SHOWN: Readonly<Record<(typeof SHOWN_ONLY)[number], MetricText>> = {
  hostWalltimeS: {
    word: 'host-walltime',
    label: 'host walltime',
    unit: 's',
    source: 'Total Host Walltime: … s',
    says: 'The time from the first copy or launch after the warm-up to the end of the last query. The throughput is the number of queries divided by it.',
    caveats:
      'It depends on --duration and --iterations, so it is no measure of speed. It does not include building, loading and warming up.',
  },
  gpuTotalS: {
    word: 'gpu-total',
    label: 'total GPU compute time',
    unit: 's',
    source: 'Total GPU Compute Time: … s',
    says: 'The mean GPU compute time times the number of queries. If it is much less than the host walltime, the GPU was idle in between.',
    caveats:
      'It is computed, not measured. With several streams the times overlap, and it may be more than the walltime.',
  },
  percentiles: {
    word: 'percentiles',
    label: 'percentiles',
    unit: 'ms',
    source: 'percentile(90%) = … ms, percentile(95%) = …, percentile(99%) = …',
    says: 'For every line of times, the value that this many of 100 queries do not exceed. Select them with run: {percentiles: […]} in a matrix.',
    caveats:
      'trtexec takes them from the sorted times without interpolation. With few queries they are the maximum: p90 with up to 9, p95 with up to 19, p99 with up to 100. TensorRT before 8.5 prints only one.',
  },
};

export function metricText(id: ExplainedNumber): MetricText {
  if (!isOwnMetric(id)) return SHOWN[id];
  const { shown, help } = metricDefinition(id);
  const [word, label, unit] = shown;
  const [source, says, caveats] = help;
  return { word, label, unit, source, says, caveats };
}
