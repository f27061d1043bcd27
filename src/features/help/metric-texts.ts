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
    says: 'From the first copy or launch after the warm-up to the end of the last query. The number of queries over it is the throughput.',
    caveats:
      'It is as long as --duration and --iterations ask for, so it is no measure of speed. Building, loading and warming up are not in it.',
  },
  gpuTotalS: {
    word: 'gpu-total',
    label: 'total GPU compute time',
    unit: 's',
    source: 'Total GPU Compute Time: … s',
    says: 'The mean GPU compute time times the number of queries. Much less than the host walltime means that the GPU was idle in between.',
    caveats:
      'It is not a sum that was measured. With several streams the times overlap, and it may be more than the walltime.',
  },
  percentiles: {
    word: 'percentiles',
    label: 'percentiles',
    unit: 'ms',
    source: 'percentile(90%) = … ms, percentile(95%) = …, percentile(99%) = …',
    says: 'Of every line of times: the value that this many of 100 queries do not exceed. Select them with run: {percentiles: […]} of a matrix.',
    caveats:
      'They are taken from the sorted times without interpolation. Of few queries they are just the maximum: p90 of up to 9, p95 of up to 19, p99 of up to 100. TensorRT before 8.5 prints only one.',
  },
};

export function metricText(id: ExplainedNumber): MetricText {
  if (!isOwnMetric(id)) return SHOWN[id];
  const { shown, help } = metricDefinition(id);
  const [word, label, unit] = shown;
  const [source, says, caveats] = help;
  return { word, label, unit, source, says, caveats };
}
