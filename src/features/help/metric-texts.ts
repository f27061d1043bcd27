import { isOwnMetric, METRIC_IDS, metricDefinition, type MetricHelp, type OwnMetricId } from '../../records/metric.ts';

export interface MetricText extends MetricHelp {
  readonly word: string;
  readonly label: string;
  readonly unit: string;
}

const SHOWN_ONLY = [
  'h2dMs',
  'd2hMs',
  'hostWalltimeS',
  'gpuTotalS',
  'percentiles',
  'cvPercent',
  'enqueueRatio',
  'gpuBusy',
] as const;

export type ExplainedNumber = OwnMetricId | (typeof SHOWN_ONLY)[number];

export const EXPLAINED_NUMBERS: readonly ExplainedNumber[] = [...METRIC_IDS, ...SHOWN_ONLY];

const SHOWN: Readonly<Record<(typeof SHOWN_ONLY)[number], MetricText>> = {
  h2dMs: {
    word: 'h2d',
    label: 'copy to the GPU (H2D)',
    unit: 'ms',
    source: 'H2D Latency: min = … ms, max = …, mean = …, median = …',
    says: 'How long the inputs of one query take from the memory of the host to that of the GPU. At or above the GPU compute time, the bus is the limit.',
    caveats:
      'With transfers off trtexec prints 0; bench then shows nothing. It depends on the generation and width of the PCIe link, on which NUMA node the process runs, and on pinned memory: trtexec warns when it only got pageable memory.',
  },
  d2hMs: {
    word: 'd2h',
    label: 'copy from the GPU (D2H)',
    unit: 'ms',
    source: 'D2H Latency: min = … ms, max = …, mean = …, median = …',
    says: 'How long the outputs of one query take from the GPU to the host. Large for segmentation and other dense outputs.',
    caveats:
      'With transfers off trtexec prints 0; bench then shows nothing. What slows the copy to the GPU slows this one as well.',
  },
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
  cvPercent: {
    word: 'cv',
    label: 'coefficient of variation (CV)',
    unit: '%',
    source: 'the exported times; else the warning: GPU compute time is unstable, with coefficient of variance = …%',
    says: 'Standard deviation over mean of the GPU compute times in one run: how steady the run was.',
    caveats:
      'trtexec warns from 1 % on, since 10.13.2 from 2.5 %: that no warning is there means different things. It is the spread inside of one process, and says little about how runs differ from each other, which is what bench judges by.',
  },
  enqueueRatio: {
    word: 'enqueue-ratio',
    label: 'enqueue over GPU time',
    unit: 'ratio',
    source: 'medians of Enqueue Time and GPU Compute Time',
    says: 'Below 0.5 the host is free, above 0.8 it is the limit: the GPU could do more than it is given. CUDA graphs, a larger batch or a faster CPU help then.',
    caveats:
      'The limits are rules of thumb; trtexec warns from 0.8 on as well. When the host is the limit the GPU compute time contains its gaps, so the ratio stays near 1 however slow the host is.',
  },
  gpuBusy: {
    word: 'gpu-busy',
    label: 'GPU busy',
    unit: 'ratio, shown in %',
    source: 'Total GPU Compute Time over Total Host Walltime',
    says: 'The part of the time in which a query ran. Below 95 % something else was the limit: copies, the host, or pauses that were asked for.',
    caveats:
      'Only with one stream. Gaps between the kernels of one query count as busy, so a GPU that waits for its host may look busy: look at the enqueue ratio next to it.',
  },
};

export function metricText(id: ExplainedNumber): MetricText {
  if (!isOwnMetric(id)) return SHOWN[id];
  const { word, label, unit, help } = metricDefinition(id);
  return { word, label, unit, ...help };
}
