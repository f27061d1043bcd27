import * as z from 'zod';

import { printable } from '../text/printable.ts';
import { keysOf } from '../text/unknown-values.ts';

export interface Metric {
  readonly id: MetricId;
  readonly label: string;
  /** One of bench's own, or a unit named by a harness: untrusted text. */
  readonly unit: string;
  readonly betterIs: Direction;
}

export const DIRECTIONS = ['lower', 'higher'] as const;

export type Direction = (typeof DIRECTIONS)[number];

export type StoredAs =
  | {
      readonly table: 'timeStatistics';
      readonly of: 'gpuCompute' | 'latency' | 'enqueue' | 'h2d' | 'd2h';
      readonly column: 'medianMs' | 'p99Ms';
    }
  | {
      readonly table: 'measurements';
      readonly column: 'throughputQps' | 'contextMemoryMib' | 'itemsPerS' | 'enqueueRatio' | 'gpuBusy' | 'cvPercent';
    }
  | { readonly table: 'builds'; readonly column: 'buildS' | 'engineMib' | 'peakMemoryMib' }
  | {
      readonly table: 'runTelemetry';
      readonly column:
        | 'memoryUsedMaxMib'
        | 'processMemoryMaxMib'
        | 'hostMemoryMaxMib'
        | 'temperatureMaxC'
        | 'smClockMhz'
        | 'powerW';
    }
  /** The median power of the run's samples over a rate. */
  | { readonly table: 'energy'; readonly over: 'throughputQps' | 'itemsPerS' }
  | {
      readonly table: 'runHints';
      readonly hint: 'engine_loaded_s' | 'engine_refitted_ms';
      readonly of: 'run' | 'build';
    }
  /** Among the numbers of a harness, by its own name. */
  | { readonly table: 'runValues' }
  /** The newest accuracy of the file that the engine was built from. */
  | { readonly table: 'accuracies' };

interface MetricDefinition {
  /** A word is what people write; the id is for programs. */
  readonly shown: readonly [word: string, label: string, unit: string, betterIs: Direction];
  readonly stored: StoredAs;
  /** The robust center of a run's own samples, if they were kept. */
  readonly centre?: 'gpuComputeCentreMs' | 'latencyCentreMs';
  /** One value per build, however often its engine runs. */
  readonly isOfBuild?: true;
  /** As a measure of Bencher. `nativeScale` converts to Bencher's ns, operations/s, seconds or bytes. */
  readonly bencher?: { readonly slug: string; readonly nativeScale?: number };
  /** As an OpenMetrics family; the name ends with the base unit. */
  readonly openMetrics?: { readonly name: string; readonly help: string };
  /** The source is the line of trtexec's log, as 10.x prints it, or another one. */
  readonly help: readonly [source: string, says: string, caveats: string];
}

/** To add a metric: one entry here; for a new number also its column in `schema.ts` and `save-run.ts`. */
const METRICS = {
  gpuComputeMs: {
    shown: ['gpu', 'GPU compute time', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'gpuCompute', column: 'medianMs' },
    centre: 'gpuComputeCentreMs',
    bencher: { slug: 'gpu-compute-ms' },
    openMetrics: { name: 'gpu_compute', help: 'Median GPU compute time of a query' },
    help: [
      'GPU Compute Time: min = … ms, max = …, mean = …, median = …',
      'How long the GPU works on one query: from an event before the query is enqueued to one behind its last kernel, without copies. bench takes the median of a run, or a robust centre of its samples where they were kept and have one level. It is what bench compares by as long as one stream runs.',
      'When the GPU waits for the host, the gaps between kernels are in it: the number then says how fast the host launches (see enqueue), and CUDA graphs take that away. With several streams the times overlap. Event times are 32-bit floats since the start of the run, so a long run of a fast model sees only coarse steps.',
    ],
  },
  latencyMs: {
    shown: ['latency', 'latency', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'latency', column: 'medianMs' },
    centre: 'latencyCentreMs',
    bencher: { slug: 'latency', nativeScale: 1e6 },
    openMetrics: { name: 'latency', help: 'Median latency of a query' },
    help: [
      'Latency: min = … ms, max = …, mean = …, median = …',
      'Copy to the GPU, compute and copy back of the same query, added up. With transfers off there are no copies, and it is the GPU compute time again.',
      'It is no request latency: trtexec keeps one query queued behind the running one, and the time that a query waits for its turn is left out. Tokenizing, decoding images and the like are the business of the application and not in it either.',
    ],
  },
  throughputQps: {
    shown: ['throughput', 'throughput', 'qps', 'higher'],
    stored: { table: 'measurements', column: 'throughputQps' },
    bencher: { slug: 'throughput', nativeScale: 1 },
    openMetrics: { name: 'throughput_queries_per_second', help: 'Queries a second' },
    help: [
      'Throughput: … qps',
      'Queries a second: timed queries over the wall time from the first copy or launch after the warm-up to the end of the last. A query is one inference of the whole batch, so multiply by the batch for images or sequences a second. The one number that says something with several streams.',
      'A low value does not say that the GPU is slow: copies, the host or other work may leave it idle (see gpu-busy). Batch 32 at half the throughput of batch 1 does sixteen times the work.',
    ],
  },
  p99Ms: {
    shown: ['p99', 'latency p99', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'latency', column: 'p99Ms' },
    bencher: { slug: 'latency-p99-ms' },
    openMetrics: { name: 'latency_p99', help: '99th percentile of the latency' },
    help: [
      'Latency: … percentile(99%) = … ms',
      'The latency that 99 of 100 queries of a run do not exceed, for limits that a service promises.',
      "trtexec does not interpolate: with up to 100 queries it is the maximum, a single outlier. It needs many queries, and repeats of whole runs, before a change of it means something. TensorRT's Python examples interpolate; their p99 does not compare with this one.",
    ],
  },
  enqueueMs: {
    shown: ['enqueue', 'enqueue time', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'enqueue', column: 'medianMs' },
    bencher: { slug: 'enqueue-ms' },
    openMetrics: { name: 'enqueue', help: 'Median time to enqueue a query' },
    help: [
      'Enqueue Time: min = … ms, max = …, mean = …, median = …',
      'Host time of one call that gives a query to the GPU, or of the launch of one CUDA graph. Near or above the GPU compute time it means that the host is the limit.',
      'Only the call itself is in it, not the copies and events around it. It depends on the CPU, its clock, other load and on how detailed the profiling names are that the engine was built with, and little on the GPU. With a CUDA graph it is tiny and noisy, and a change of it is nothing by itself.',
    ],
  },
  h2dMs: {
    shown: ['h2d', 'copy to the GPU (H2D)', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'h2d', column: 'medianMs' },
    help: [
      'H2D Latency: min = … ms, max = …, mean = …, median = …',
      'How long the inputs of one query take from the memory of the host to that of the GPU. At or above the GPU compute time, the bus is the limit.',
      'With transfers off trtexec prints 0; bench then shows nothing. It depends on the generation and width of the PCIe link, on which NUMA node the process runs, and on pinned memory: trtexec warns when it only got pageable memory.',
    ],
  },
  d2hMs: {
    shown: ['d2h', 'copy from the GPU (D2H)', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'd2h', column: 'medianMs' },
    help: [
      'D2H Latency: min = … ms, max = …, mean = …, median = …',
      'How long the outputs of one query take from the GPU to the host. Large for segmentation and other dense outputs.',
      'With transfers off trtexec prints 0; bench then shows nothing. What slows the copy to the GPU slows this one as well.',
    ],
  },
  enqueueRatio: {
    shown: ['enqueue-ratio', 'enqueue over GPU time', 'ratio', 'lower'],
    stored: { table: 'measurements', column: 'enqueueRatio' },
    help: [
      'medians of Enqueue Time and GPU Compute Time',
      'Below 0.5 the host is free, above 0.8 it is the limit: the GPU could do more than it is given. CUDA graphs, a larger batch or a faster CPU help then.',
      'The limits are rules of thumb; trtexec warns from 0.8 on as well. When the host is the limit the GPU compute time contains its gaps, so the ratio stays near 1 however slow the host is.',
    ],
  },
  gpuBusy: {
    shown: ['gpu-busy', 'GPU busy', 'ratio', 'higher'],
    stored: { table: 'measurements', column: 'gpuBusy' },
    help: [
      'Total GPU Compute Time over Total Host Walltime',
      'The part of the time in which a query ran. Below 95 % something else was the limit: copies, the host, or pauses that were asked for.',
      'Only with one stream. Gaps between the kernels of one query count as busy, so a GPU that waits for its host may look busy: look at the enqueue ratio next to it.',
    ],
  },
  cvPercent: {
    shown: ['cv', 'coefficient of variation (CV)', '%', 'lower'],
    stored: { table: 'measurements', column: 'cvPercent' },
    help: [
      'the exported times; else the warning: GPU compute time is unstable, with coefficient of variance = …%',
      'Standard deviation over mean of the GPU compute times in one run: how steady the run was.',
      'trtexec warns from 1 % on, since 10.13.2 from 2.5 %: that no warning is there means different things. It is the spread inside of one process, and says little about how runs differ from each other, which is what bench judges by.',
    ],
  },
  itemsPerS: {
    shown: ['items', 'items per second', 'items/s', 'higher'],
    stored: { table: 'measurements', column: 'itemsPerS' },
    help: [
      'no line of trtexec: throughput times the batch',
      'Images, sequences or rows a second: queries a second times the first dimension that all inputs share. Compares batches with each other, which throughput in queries does not.',
      'Without a common first dimension of the inputs there is none. A padded batch counts in full: items that carry nothing are in it.',
    ],
  },
  energyPerQueryMj: {
    shown: ['energy', 'energy of a query', 'mJ', 'lower'],
    stored: { table: 'energy', over: 'throughputQps' },
    help: [
      'no line of trtexec: the power that nvidia-smi printed while the run was timed, over the throughput',
      'What the GPU takes from the mains for one query: the median power of the samples in which it worked, times the time from one query to the next. 1000 mJ are one watt for one second.',
      "It is that of the whole board, its idle power too, and without the host; what else uses the GPU is in it. nvidia-smi's power is good to some percent, the same on each run of a card, and in most generations a mean of the last second: short runs have few samples of it, and the first lags behind. Runs without telemetry, imports and recordings have none.",
    ],
  },
  energyPerItemMj: {
    shown: ['item-energy', 'energy of an item', 'mJ', 'lower'],
    stored: { table: 'energy', over: 'itemsPerS' },
    help: [
      'no line of trtexec: the power that nvidia-smi printed while the run was timed, over items a second',
      'Energy of a query over its batch: what one image, sequence or row costs. Compares batches and precisions with each other.',
      'As of the energy of a query; and without a common first dimension of the inputs there is none.',
    ],
  },
  buildS: {
    shown: ['build-time', 'build time', 's', 'lower'],
    stored: { table: 'builds', column: 'buildS' },
    isOfBuild: true,
    bencher: { slug: 'build-time', nativeScale: 1 },
    openMetrics: { name: 'build', help: 'Time to build the engine' },
    help: [
      'Engine built in … sec.',
      'How long TensorRT took to build the engine: trying tactics, and writing the plan.',
      'A timing cache makes the second build many times faster, and bench keeps one. Each engine is built once for all repeats, so there is mostly one value, without any spread; and an engine that was kept from an earlier sweep has the time of that day.',
    ],
  },
  engineMib: {
    shown: ['engine-size', 'engine size', 'MiB', 'lower'],
    stored: { table: 'builds', column: 'engineMib' },
    isOfBuild: true,
    bencher: { slug: 'file-size', nativeScale: 1024 ** 2 },
    openMetrics: { name: 'engine', help: 'Size of the engine' },
    help: [
      'Created engine with size: … MiB',
      'The size of the serialized engine: weights in their precision, and the kernels that come with them.',
      'It is neither what the GPU needs at run time (see context-size; activations and the CUDA context come on top) nor the same from build to build, as other tactics bring other kernels. 0 MiB is a build that failed although trtexec may end with success. TensorRT before 9 does not print it.',
    ],
  },
  buildMemoryMib: {
    shown: ['build-memory', 'build memory', 'MiB', 'lower'],
    stored: { table: 'builds', column: 'peakMemoryMib' },
    isOfBuild: true,
    help: [
      'Peak memory usage of TRT CPU/GPU memory allocators: CPU … MiB, GPU … MiB',
      'The most memory of the GPU that the builder held at once: weights, activations and the workspace of the tactics that it tried.',
      'Only what TensorRT allocates itself is in it: the CUDA context, and libraries that allocate for themselves, come on top. With a timing cache fewer tactics are tried, and less is needed.',
    ],
  },
  contextMib: {
    shown: ['context-size', 'context memory', 'MiB', 'lower'],
    stored: { table: 'measurements', column: 'contextMemoryMib' },
    bencher: { slug: 'context-memory-mib' },
    openMetrics: { name: 'context_memory', help: 'Device memory of the execution context' },
    help: [
      'Created execution context with device memory size: … MiB',
      'Device memory that one execution context takes for activations: at the largest shapes of all profiles, or of this profile, or at the shapes that run, as the allocation strategy says.',
      'The weights, the CUDA context and the copies of inputs and outputs are not in it, and each further stream takes a context of its own. TensorRT before 9 does not print it.',
    ],
  },
  memoryMib: {
    shown: ['gpu-memory', 'GPU memory', 'MiB', 'lower'],
    stored: { table: 'runTelemetry', column: 'memoryUsedMaxMib' },
    help: [
      'no line of trtexec: nvidia-smi, once a second while the run is timed',
      'The most memory of the GPU that was in use during the run: weights, activations, buffers, kernels and the CUDA context. What a weight-streaming budget saves is seen here.',
      'It is that of the whole GPU: what other processes hold is in it (see the flag contended). A short peak between two looks is missed. Runs without telemetry, imports and recordings have none.',
    ],
  },
  processMemoryMib: {
    shown: ['process-memory', 'GPU memory of the process', 'MiB', 'lower'],
    stored: { table: 'runTelemetry', column: 'processMemoryMaxMib' },
    help: [
      'no line of trtexec: nvidia-smi pmon, once a second during the run',
      'The most memory of the GPU that trtexec held during the run: weights, activations, buffers, kernels and the CUDA context.',
      'Other processes are not in it. nvidia-smi lists no process of a container with process numbers of its own, and no memory of a process on a MIG device: then there is none. A short peak between two looks is missed. Runs without telemetry, imports and recordings have none.',
    ],
  },
  hostMemoryMib: {
    shown: ['host-memory', 'host memory', 'MiB', 'lower'],
    stored: { table: 'runTelemetry', column: 'hostMemoryMaxMib' },
    help: [
      'no line of trtexec: VmHWM in /proc/PID/status, once a second during the run',
      'The peak resident memory of trtexec on the host: the engine file while it is loaded, the libraries of TensorRT and CUDA, and pinned buffers.',
      'Loading is in it, building is not: engines are built by another process. Of several processes it is that of the largest. What a process takes in its last second may be missed. Runs without telemetry, imports and recordings have none.',
    ],
  },
  temperatureC: {
    shown: ['temperature', 'GPU temperature', '°C', 'lower'],
    stored: { table: 'runTelemetry', column: 'temperatureMaxC' },
    help: [
      'no line of trtexec: nvidia-smi, once a second while the run is timed',
      'The highest temperature of the GPU during the run. Hotter silicon leaks more current, so that the power cap is reached sooner: look at it with times that rise over months.',
      'It depends on the room, on the runs before it and on how long the run takes. A GPU that slows down for its temperature is flagged throttled. Runs without telemetry have none.',
    ],
  },
  smClockMhz: {
    shown: ['sm-clock', 'SM clock', 'MHz', 'higher'],
    stored: { table: 'runTelemetry', column: 'smClockMhz' },
    help: [
      'no line of trtexec: nvidia-smi, once a second while the run is timed',
      'The median clock of the multiprocessors during the run. What scales with it is slower where it is lower, whatever the engine.',
      'A sample is one instant of a second, and clocks change in milliseconds. A locked clock is the same in every run. Runs without telemetry have none.',
    ],
  },
  powerW: {
    shown: ['power', 'power', 'W', 'lower'],
    stored: { table: 'runTelemetry', column: 'powerW' },
    help: [
      'no line of trtexec: nvidia-smi, once a second while the run is timed',
      'The median power of the whole board during the run. At its limit the GPU lowers its clocks (bound by power).',
      'More power for less time may be the better engine: what a query takes is its energy. Values of inputs matter, too: zeros draw less. Runs without telemetry have none.',
    ],
  },
  loadS: {
    shown: ['load-time', 'engine load time', 's', 'lower'],
    stored: { table: 'runHints', hint: 'engine_loaded_s', of: 'run' },
    help: [
      'Engine deserialized in … sec.',
      'How long TensorRT took to make an engine of the file: reading it where trtexec streams it, and copying weights to the GPU.',
      'By default 11.x reads the whole file before this clock starts, the asynchronous loader reads while it runs: the two numbers do not tell which is done sooner. A file that was just read is in the memory of the host, and loads faster than after a restart. Refitting stripped weights is not in it.',
    ],
  },
  firstInferenceMs: {
    shown: ['first-inference', 'first inference', 'ms', 'lower'],
    stored: { table: 'runValues' },
    help: [
      'the first row of --exportTimes, of a run of its own with --warmUp=0',
      'Copies and compute of the first query of a process, with what happens once: kernels that are loaded lazily, memory that is taken, clocks that are low. Cells of `coldStart:` in a matrix have it; load-time of the same runs says how long the engine took before.',
      'The CUDA context, the execution context and reading the file come before and are not in it; trtexec prints no time of a context. The file is in the memory of the host, as bench drops no caches: after a restart of the machine loading takes longer.',
    ],
  },
  refitMs: {
    shown: ['refit-time', 'refit time', 'ms', 'lower'],
    stored: { table: 'runHints', hint: 'engine_refitted_ms', of: 'build' },
    isOfBuild: true,
    help: [
      'Engine refitted in … ms.',
      'The mean of ten refits of the engine with its own weights, timed by the build (weights: refittable, or --refit and --timeRefit under build.flags).',
      'A first refit came before and is not in it. The weights come from memory, not from the ONNX file, whose reading takes longer than the refit itself in most models.',
    ],
  },
  outputErrorPercent: {
    shown: ['output-error', 'output error', '%', 'lower'],
    stored: { table: 'accuracies' },
    bencher: { slug: 'output-error-percent' },
    openMetrics: { name: 'output_error', help: 'Relative error of the outputs against those of the reference' },
    help: [
      'no line of trtexec: bench model accuracy, by onnxruntime',
      "How far the outputs of a variant are from those of its reference on the same inputs: the root of the error's power over that of the signal. 10 % is a signal to noise ratio (SQNR) of 20 dB. Of several outputs the worst.",
      'It is computed on the ONNX files, on a CPU, not on the engine, whose kernels round in their own way (but from outputs of engines where these were compared). Random inputs exercise a network in no way like real ones, and a small error says nothing of the accuracy of the task.',
    ],
  },
} satisfies Readonly<Record<string, MetricDefinition>>;

export type OwnMetricId = keyof typeof METRICS;

export function isOwnMetric(id: string): id is OwnMetricId {
  return Object.hasOwn(METRICS, id);
}

export const METRIC_IDS = keysOf(METRICS);

/** `gpu` for gpuComputeMs; of another harness its own name. */
export function metricWord(id: MetricId): string {
  return isOwnMetric(id) ? METRICS[id].shown[0] : metricOf(id).label;
}

export const METRIC_WORDS = METRIC_IDS.map(metricWord);

/** By its word or its id. */
export function ownMetricNamed(name: string): OwnMetricId | undefined {
  if (name === 'qps') return 'throughputQps';
  return METRIC_IDS.find((id) => id === name || METRICS[id].shown[0] === name);
}

/** A harness's own number: `ttft:lower:ms`. With another unit or direction it is another metric. */
export type CustomMetricId = `${string}:${Direction}:${string}`;

export type MetricId = OwnMetricId | CustomMetricId;

/** Of a harness other than trtexec, or of a cold start. */
export type ReadMetricId = CustomMetricId | 'firstInferenceMs';

export const metricSchema = z
  .union([z.enum(METRIC_IDS), z.templateLiteral([z.string(), ':', z.enum(DIRECTIONS), ':', z.string()])])
  .describe('One of bench, or NAME:lower|higher:UNIT of another harness');

/** The values of a run; another harness may supply only custom metrics. */
export type MetricValues = Readonly<Record<OwnMetricId, number | null>> &
  Readonly<Partial<Record<CustomMetricId, number>>>;

export function metricDefinition(id: OwnMetricId): MetricDefinition {
  return METRICS[id];
}

export function byMetric<Value>(of: (id: OwnMetricId) => Value): Record<OwnMetricId, Value> {
  const values: Partial<Record<OwnMetricId, Value>> = {};
  for (const id of METRIC_IDS) values[id] = of(id);
  if (!isComplete(values)) throw new Error('a metric without a value');
  return values;
}

function isComplete<Value>(values: Partial<Record<OwnMetricId, Value>>): values is Record<OwnMetricId, Value> {
  return METRIC_IDS.every((id) => id in values);
}

export function isOfBuild(metric: MetricId): boolean {
  return isOwnMetric(metric) && metricDefinition(metric).isOfBuild === true;
}

const CUSTOM = /^([A-Za-z][\w.-]{0,59}):(lower|higher):([^\s:\p{C}]{1,20})$/u;

export function isCustomMetric(id: string): id is CustomMetricId {
  return CUSTOM.test(id);
}

export function isMetric(id: string): id is MetricId {
  return isOwnMetric(id) || isCustomMetric(id);
}

/** `name`: letters, digits and `_.-`; `unit`: without spaces and colons. */
export function customMetric(name: string, betterIs: Direction, unit: string): CustomMetricId {
  return `${name}:${betterIs}:${unit}`;
}

export function metricOf(id: MetricId): Metric {
  if (isOwnMetric(id)) {
    const [, label, unit, betterIs] = METRICS[id].shown;
    return { id, label, unit, betterIs };
  }
  const [, label = printable(id), betterIs, unit = ''] = CUSTOM.exec(id) ?? [];
  return { id, label, unit, betterIs: betterIs === 'higher' ? 'higher' : 'lower' };
}

/** With several streams latencies overlap and only throughput is meaningful. */
export function gateMetric(
  requested: MetricId | null,
  cell: { readonly streams: number; readonly harness?: { readonly metric: MetricId } },
): MetricId {
  return requested ?? cell.harness?.metric ?? (cell.streams > 1 ? 'throughputQps' : 'gpuComputeMs');
}
