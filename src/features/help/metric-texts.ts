import { METRIC_IDS, metricOf, type OwnMetricId } from '../../records/metric.ts';

/** What a number says, where it comes from and when it deceives. */
export interface MetricText {
  readonly label: string;
  readonly unit: string;
  /** The line of trtexec's log, as 10.x prints it; or what else it is taken from. */
  readonly source: string;
  readonly says: string;
  readonly lies: string;
}

/** Numbers that bench shows, but does not compare by. */
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

type Text = Pick<MetricText, 'source' | 'says' | 'lies'>;

const COMPARED: Readonly<Record<OwnMetricId, Text>> = {
  gpuComputeMs: {
    source: 'GPU Compute Time: min = … ms, max = …, mean = …, median = …',
    says: 'How long the GPU works on one query: from an event before the query is enqueued to one behind its last kernel, without copies. bench takes the median of a run, or a robust centre of its samples where they were kept. It is what bench compares by as long as one stream runs.',
    lies: 'When the GPU waits for the host, the gaps between kernels are in it: the number then says how fast the host launches (see enqueueMs), and CUDA graphs take that away. With several streams the times overlap. Event times are 32-bit floats since the start of the run, so a long run of a fast model sees only coarse steps.',
  },
  latencyMs: {
    source: 'Latency: min = … ms, max = …, mean = …, median = …',
    says: 'Copy to the GPU, compute and copy back of the same query, added up. With transfers off there are no copies, and it is the GPU compute time again.',
    lies: 'It is no request latency: trtexec keeps one query queued behind the running one, and the time that a query waits for its turn is left out. Tokenizing, decoding images and the like are the business of the application and not in it either.',
  },
  throughputQps: {
    source: 'Throughput: … qps',
    says: 'Queries a second: timed queries over the wall time from the first copy or launch after the warm-up to the end of the last. A query is one inference of the whole batch, so multiply by the batch for images or sequences a second. The one number that says something with several streams.',
    lies: 'A low value does not say that the GPU is slow: copies, the host or other work may leave it idle (see gpuBusy). Batch 32 at half the throughput of batch 1 does sixteen times the work.',
  },
  p99Ms: {
    source: 'Latency: … percentile(99%) = … ms',
    says: 'The latency that 99 of 100 queries of a run do not exceed, for limits that a service promises.',
    lies: "trtexec does not interpolate: with up to 100 queries it is the maximum, a single outlier. It needs many queries, and repeats of whole runs, before a change of it means something. TensorRT's Python examples interpolate; their p99 does not compare with this one.",
  },
  enqueueMs: {
    source: 'Enqueue Time: min = … ms, max = …, mean = …, median = …',
    says: 'Host time of one call that gives a query to the GPU, or of the launch of one CUDA graph. Near or above the GPU compute time it means that the host is the limit.',
    lies: 'Only the call itself is in it, not the copies and events around it. It depends on the CPU, its clock, other load and on how detailed the profiling names are that the engine was built with, and little on the GPU. With a CUDA graph it is tiny and noisy, and a change of it is nothing by itself.',
  },
  buildS: {
    source: 'Engine built in … sec.',
    says: 'How long TensorRT took to build the engine: trying tactics, and writing the plan.',
    lies: 'A timing cache makes the second build many times faster, and bench keeps one. Each engine is built once for all repeats, so there is mostly one value, without any spread; and an engine that was kept from an earlier sweep has the time of that day.',
  },
  engineMib: {
    source: 'Created engine with size: … MiB',
    says: 'The size of the serialized engine: weights in their precision, and the kernels that come with them.',
    lies: 'It is neither what the GPU needs at run time (see contextMib; activations and the CUDA context come on top) nor the same from build to build, as other tactics bring other kernels. 0 MiB is a build that failed although trtexec may end with success. TensorRT before 9 does not print it.',
  },
  contextMib: {
    source: 'Created execution context with device memory size: … MiB',
    says: 'Device memory that one execution context takes for activations: at the largest shapes of all profiles, or of this profile, or at the shapes that run, as the allocation strategy says.',
    lies: 'The weights, the CUDA context and the copies of inputs and outputs are not in it, and each further stream takes a context of its own. TensorRT before 9 does not print it.',
  },
  memoryMib: {
    source: 'no line of trtexec: nvidia-smi, once a second while the run is timed',
    says: 'The most memory of the GPU that was in use during the run: weights, activations, buffers, kernels and the CUDA context. What a weight-streaming budget saves is seen here.',
    lies: 'It is that of the whole GPU: what other processes hold is in it (see the flag contended). A short peak between two looks is missed. Runs without telemetry, imports and recordings have none.',
  },
  loadS: {
    source: 'Engine deserialized in … sec.',
    says: 'How long TensorRT took to make an engine of the file: reading it where trtexec streams it, and copying weights to the GPU.',
    lies: 'By default 11.x reads the whole file before this clock starts, the asynchronous loader reads while it runs: beside each other they do not tell which is done sooner. A file that was just read is in the memory of the host, and loads faster than after a restart. Refitting stripped weights is not in it.',
  },
  refitMs: {
    source: 'Engine refitted in … ms.',
    says: 'The mean of ten refits of the engine with its own weights, timed by the build (weights: refittable, or --refit and --timeRefit under build.flags).',
    lies: 'A first refit came before and is not in it. The weights come from memory, not from the ONNX file, whose reading takes longer than the refit itself in most models.',
  },
  outputErrorPercent: {
    source: 'no line of trtexec: bench accuracy, by onnxruntime',
    says: "How far the outputs of a variant are from those of its reference on the same inputs: the root of the error's power over that of the signal. 10 % is a signal to noise ratio (SQNR) of 20 dB. Of several outputs the worst.",
    lies: 'It is computed on the ONNX files, on a CPU, not on the engine, whose kernels round in their own way (but from outputs of engines where these were compared). Random inputs exercise a network in no way like real ones, and a small error says nothing of the accuracy of the task.',
  },
};

const SHOWN: Readonly<Record<(typeof SHOWN_ONLY)[number], MetricText>> = {
  h2dMs: {
    label: 'copy to the GPU (H2D)',
    unit: 'ms',
    source: 'H2D Latency: min = … ms, max = …, mean = …, median = …',
    says: 'How long the inputs of one query take from the memory of the host to that of the GPU. At or above the GPU compute time, the bus is the limit.',
    lies: 'With transfers off trtexec prints 0; bench then shows nothing. It depends on the generation and width of the PCIe link, on which NUMA node the process runs, and on pinned memory: trtexec warns when it only got pageable memory.',
  },
  d2hMs: {
    label: 'copy from the GPU (D2H)',
    unit: 'ms',
    source: 'D2H Latency: min = … ms, max = …, mean = …, median = …',
    says: 'How long the outputs of one query take from the GPU to the host. Large for segmentation and other dense outputs.',
    lies: 'With transfers off trtexec prints 0; bench then shows nothing. What slows the copy to the GPU slows this one as well.',
  },
  hostWalltimeS: {
    label: 'host walltime',
    unit: 's',
    source: 'Total Host Walltime: … s',
    says: 'From the first copy or launch after the warm-up to the end of the last query. The number of queries over it is the throughput.',
    lies: 'It is as long as --duration and --iterations ask for, so it is no measure of speed. Building, loading and warming up are not in it.',
  },
  gpuTotalS: {
    label: 'total GPU compute time',
    unit: 's',
    source: 'Total GPU Compute Time: … s',
    says: 'The mean GPU compute time times the number of queries. Much less than the host walltime means that the GPU was idle in between.',
    lies: 'It is not a sum that was measured. With several streams the times overlap, and it may be more than the walltime.',
  },
  percentiles: {
    label: 'percentiles',
    unit: 'ms',
    source: 'percentile(90%) = … ms, percentile(95%) = …, percentile(99%) = …',
    says: 'Of every line of times: the value that so many of 100 queries do not exceed. Which ones stands under run: {percentiles: […]} of a matrix.',
    lies: 'They are taken from the sorted times without interpolation. Of few queries they are just the maximum: p90 of up to 9, p95 of up to 19, p99 of up to 100. TensorRT before 8.5 prints only one.',
  },
  cvPercent: {
    label: 'coefficient of variation (CV)',
    unit: '%',
    source: 'the exported times; else the warning: GPU compute time is unstable, with coefficient of variance = …%',
    says: 'Standard deviation over mean of the GPU compute times in one run: how steady the run was.',
    lies: 'trtexec warns from 1 % on, since 10.13.2 from 2.5 %: that no warning is there means different things. It is the spread inside of one process, and says little about how runs differ from each other, which is what bench judges by.',
  },
  enqueueRatio: {
    label: 'enqueue over GPU time',
    unit: 'ratio',
    source: 'medians of Enqueue Time and GPU Compute Time',
    says: 'Below 0.5 the host is free, above 0.8 it is the limit: the GPU could do more than it is given. CUDA graphs, a larger batch or a faster CPU help then.',
    lies: 'The limits are rules of thumb; trtexec warns from 0.8 on as well. When the host is the limit the GPU compute time contains its gaps, so the ratio stays near 1 however slow the host is.',
  },
  gpuBusy: {
    label: 'GPU busy',
    unit: 'ratio, shown in %',
    source: 'Total GPU Compute Time over Total Host Walltime',
    says: 'The part of the time in which a query ran. Below 95 % something else was the limit: copies, the host, or pauses that were asked for.',
    lies: 'Only with one stream. Gaps between the kernels of one query count as busy, so a GPU that waits for its host may look busy: look at the enqueue ratio beside it.',
  },
};

function isCompared(id: ExplainedNumber): id is OwnMetricId {
  return METRIC_IDS.some((each) => each === id);
}

export function metricText(id: ExplainedNumber): MetricText {
  if (!isCompared(id)) return SHOWN[id];
  const { label, unit } = metricOf(id);
  return { label, unit, ...COMPARED[id] };
}
