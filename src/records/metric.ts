import * as z from 'zod';

import { printable } from '../text/printable.ts';
import { keysOf } from '../text/unknown-values.ts';

export interface Metric {
  readonly id: MetricId;
  readonly label: string;
  /** A unit of bench, or of a harness: untrusted text. */
  readonly unit: string;
  readonly betterIs: Direction;
}

export const DIRECTIONS = ['lower', 'higher'] as const;

export type Direction = (typeof DIRECTIONS)[number];

type Memory = 'memoryUsedMaxMib' | 'processMemoryMaxMib' | 'hostMemoryMaxMib';
type Rate = 'throughputQps' | 'itemsPerS';
type StatisticLine = 'gpuCompute' | 'latency' | 'enqueue' | 'h2d' | 'd2h';

export type StoredAs =
  | { readonly table: 'timeStatistics'; readonly of: StatisticLine; readonly column: 'medianMs' | 'p99Ms' }
  | {
      readonly table: 'measurements';
      readonly column: Rate | 'contextMemoryMib' | 'enqueueRatio' | 'gpuBusy' | 'cvPercent';
    }
  | { readonly table: 'builds'; readonly column: 'buildS' | 'engineMib' | 'peakMemoryMib' }
  | { readonly table: 'runTelemetry'; readonly column: Memory | 'temperatureMaxC' | 'smClockMhz' | 'powerW' }
  /** The median power of the run's samples, divided by a rate. */
  | { readonly table: 'energy'; readonly over: Rate }
  | {
      readonly table: 'runHints';
      readonly hint: 'engine_loaded_s' | 'engine_refitted_ms';
      readonly of: 'run' | 'build';
    }
  /** A number of a harness, under its own name. */
  | { readonly table: 'runValues' }
  /** The newest accuracy of the file from which the engine was built. */
  | { readonly table: 'accuracies' };

interface MetricDefinition {
  /** People write the word; programs use the ID. */
  readonly shown: readonly [word: string, label: string, unit: string, betterIs: Direction];
  readonly stored: StoredAs;
  /** The robust center of the samples of a run, if they were kept. */
  readonly centre?: 'gpuComputeCentreMs' | 'latencyCentreMs';
  /** The measure for Bencher. `nativeScale` converts to Bencher's ns, operations/s, seconds or bytes. */
  readonly bencher?: { readonly slug: string; readonly nativeScale?: number };
  /** The OpenMetrics family; the name ends with the base unit. */
  readonly openMetrics?: { readonly name: string; readonly help: string };
  /** A line of trtexec's log as 10.x prints it, or something else. */
  readonly source: string;
  readonly says: string;
  readonly caveats: string;
}

/** To add a metric, add an entry here; for a new number also its column in `schema.ts` and `save-run.ts`. */
const METRICS = {
  gpuComputeMs: {
    shown: ['gpu', 'GPU compute time', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'gpuCompute', column: 'medianMs' },
    centre: 'gpuComputeCentreMs',
    bencher: { slug: 'gpu-compute-ms' },
    openMetrics: { name: 'gpu_compute', help: 'Median GPU compute time of a query' },
    source: 'GPU Compute Time: min = … ms, max = …, mean = …, median = …',
    says: 'The time from an event before the query is enqueued to an event after its last kernel, without copies. bench uses the median of a run, or a robust center of its samples if they were kept and have one level. It is the default metric with one stream.',
    caveats:
      'If the GPU waits for the host, the time includes the gaps between kernels. It then shows how fast the host launches (see enqueue); a CUDA graph removes the gaps. With several streams the times overlap. Event times are 32-bit floats since the start of the run, so long runs of fast models have coarse steps.',
  },
  latencyMs: {
    shown: ['latency', 'latency', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'latency', column: 'medianMs' },
    centre: 'latencyCentreMs',
    bencher: { slug: 'latency', nativeScale: 1e6 },
    openMetrics: { name: 'latency', help: 'Median latency of a query' },
    source: 'Latency: min = … ms, max = …, mean = …, median = …',
    says: 'The sum of copy to the GPU, compute and copy back of one query. Without data transfers it equals the GPU compute time.',
    caveats:
      'It is not the latency of a request. trtexec keeps one query queued behind the running one and does not count the time in the queue. It also does not include work of the application, such as tokenizing or decoding images.',
  },
  throughputQps: {
    shown: ['throughput', 'throughput', 'qps', 'higher'],
    stored: { table: 'measurements', column: 'throughputQps' },
    bencher: { slug: 'throughput', nativeScale: 1 },
    openMetrics: { name: 'throughput_queries_per_second', help: 'Queries a second' },
    source: 'Throughput: … qps',
    says: 'Queries per second: the number of timed queries divided by the wall time after the warm-up. A query is one inference of the whole batch; for images or sequences per second see items. With several streams it is the only meaningful metric.',
    caveats:
      'A low value does not mean that the GPU is slow: copies, the host or other work may leave it idle (see gpu-busy). Batch 32 with half the throughput of batch 1 does sixteen times the work.',
  },
  p99Ms: {
    shown: ['p99', 'latency p99', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'latency', column: 'p99Ms' },
    bencher: { slug: 'latency-p99-ms' },
    openMetrics: { name: 'latency_p99', help: '99th percentile of the latency' },
    source: 'Latency: … percentile(99%) = … ms',
    says: 'The latency that 99 of 100 queries of a run do not exceed, for limits that a service promises.',
    caveats:
      'trtexec does not interpolate: with up to 100 queries it is the maximum, a single outlier. A change is meaningful only with many queries and repeated runs. The Python examples of TensorRT interpolate; do not compare their p99 with this one.',
  },
  enqueueMs: {
    shown: ['enqueue', 'enqueue time', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'enqueue', column: 'medianMs' },
    bencher: { slug: 'enqueue-ms' },
    openMetrics: { name: 'enqueue', help: 'Median time to enqueue a query' },
    source: 'Enqueue Time: min = … ms, max = …, mean = …, median = …',
    says: 'The host time of the call that enqueues a query or launches a CUDA graph. If it is near or above the GPU compute time, the host is the limit.',
    caveats:
      'It does not include the copies and events around the call. It depends on the CPU, its clock and load, and on the profiling verbosity of the engine, but little on the GPU. With a CUDA graph it is small and noisy, and a change alone means nothing.',
  },
  h2dMs: {
    shown: ['h2d', 'copy to the GPU (H2D)', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'h2d', column: 'medianMs' },
    source: 'H2D Latency: min = … ms, max = …, mean = …, median = …',
    says: 'The time to copy the inputs of one query from host memory to the GPU. If it reaches the GPU compute time, the bus is the limit.',
    caveats:
      'Without data transfers trtexec prints 0, and bench shows nothing. It depends on the PCIe link, on the NUMA node of the process, and on pinned memory: trtexec warns if it got only pageable memory.',
  },
  d2hMs: {
    shown: ['d2h', 'copy from the GPU (D2H)', 'ms', 'lower'],
    stored: { table: 'timeStatistics', of: 'd2h', column: 'medianMs' },
    source: 'D2H Latency: min = … ms, max = …, mean = …, median = …',
    says: 'The time to copy the outputs of one query from the GPU to the host. It is large for dense outputs, such as segmentation.',
    caveats: 'Without data transfers trtexec prints 0, and bench shows nothing. It depends on the same things as h2d.',
  },
  enqueueRatio: {
    shown: ['enqueue-ratio', 'enqueue over GPU time', 'ratio', 'lower'],
    stored: { table: 'measurements', column: 'enqueueRatio' },
    source: 'medians of Enqueue Time and GPU Compute Time',
    says: 'Enqueue time divided by GPU compute time. Below 0.5 the host is free. Above 0.8 the host is the limit: a CUDA graph, a larger batch or a faster CPU helps.',
    caveats:
      'The limits are rules of thumb; trtexec also warns from 0.8 on. If the host is the limit, the GPU compute time includes the gaps, so the ratio stays near 1.',
  },
  gpuBusy: {
    shown: ['gpu-busy', 'GPU busy', 'ratio', 'higher'],
    stored: { table: 'measurements', column: 'gpuBusy' },
    source: 'Total GPU Compute Time over Total Host Walltime',
    says: 'The part of the time in which a query ran. Below 95 %, copies, the host or requested pauses are the limit.',
    caveats:
      'It exists only with one stream. Gaps between the kernels of one query count as busy, so a GPU that waits for its host may look busy: see also enqueue-ratio.',
  },
  cvPercent: {
    shown: ['cv', 'coefficient of variation (CV)', '%', 'lower'],
    stored: { table: 'measurements', column: 'cvPercent' },
    source: 'the exported times; else the warning: GPU compute time is unstable, with coefficient of variance = …%',
    says: 'The standard deviation of the GPU compute times in one run, divided by their mean.',
    caveats:
      'trtexec warns from 1 % on, and since 10.13.2 from 2.5 %. It describes one process and shows little about how much runs differ, which verdicts depend on.',
  },
  itemsPerS: {
    shown: ['items', 'items per second', 'items/s', 'higher'],
    stored: { table: 'measurements', column: 'itemsPerS' },
    source: 'no line of trtexec: throughput times the batch',
    says: 'Images, sequences or rows per second: throughput times the first dimension that all inputs share. Unlike throughput, it compares different batches.',
    caveats: 'It does not exist if the inputs have no common first dimension. A padded batch counts in full.',
  },
  energyPerQueryMj: {
    shown: ['energy', 'energy of a query', 'mJ', 'lower'],
    stored: { table: 'energy', over: 'throughputQps' },
    source: 'no line of trtexec: the power that nvidia-smi printed while the run was timed, over the throughput',
    says: 'The energy of the GPU for one query: the median power while it worked, times the time from one query to the next. 1000 mJ are one watt for one second.',
    caveats:
      'It includes the whole board with its idle power and other work on the GPU, but not the host. The power of nvidia-smi has an error of some percent, which is the same in each run of a card. On most GPUs it is a mean of the last second, so short runs have few samples. Runs without telemetry, imports and recordings have none.',
  },
  energyPerItemMj: {
    shown: ['item-energy', 'energy of an item', 'mJ', 'lower'],
    stored: { table: 'energy', over: 'itemsPerS' },
    source: 'no line of trtexec: the power that nvidia-smi printed while the run was timed, over items a second',
    says: 'The energy of a query divided by its batch: the energy of one image, sequence or row. It compares different batches and precisions.',
    caveats: 'The same as for energy. It does not exist if the inputs have no common first dimension.',
  },
  buildS: {
    shown: ['build-time', 'build time', 's', 'lower'],
    stored: { table: 'builds', column: 'buildS' },
    bencher: { slug: 'build-time', nativeScale: 1 },
    openMetrics: { name: 'build', help: 'Time to build the engine' },
    source: 'Engine built in … sec.',
    says: 'The time that TensorRT took to build the engine, including the tactics that it tried.',
    caveats:
      'A timing cache, which bench keeps, makes the second build many times faster. bench builds each engine once for all repeats, so there is usually only one value. A cached engine has the time of its own build.',
  },
  engineMib: {
    shown: ['engine-size', 'engine size', 'MiB', 'lower'],
    stored: { table: 'builds', column: 'engineMib' },
    bencher: { slug: 'file-size', nativeScale: 1024 ** 2 },
    openMetrics: { name: 'engine', help: 'Size of the engine' },
    source: 'Created engine with size: … MiB',
    says: 'The size of the serialized engine: weights in their precision, and the kernels that come with them.',
    caveats:
      'It is not the memory that the GPU needs at run time (see context-size). It differs between builds, because other tactics use other kernels. 0 MiB means that the build failed, even if trtexec exits with success. TensorRT before 9 does not print it.',
  },
  buildMemoryMib: {
    shown: ['build-memory', 'build memory', 'MiB', 'lower'],
    stored: { table: 'builds', column: 'peakMemoryMib' },
    source: 'Peak memory usage of TRT CPU/GPU memory allocators: CPU … MiB, GPU … MiB',
    says: 'The peak GPU memory of the builder: weights, activations and the workspace of the tactics that it tried.',
    caveats:
      'It includes only memory that TensorRT allocates, not the CUDA context or other libraries. With a timing cache, the builder tries fewer tactics and needs less.',
  },
  contextMib: {
    shown: ['context-size', 'context memory', 'MiB', 'lower'],
    stored: { table: 'measurements', column: 'contextMemoryMib' },
    bencher: { slug: 'context-memory-mib' },
    openMetrics: { name: 'context_memory', help: 'Device memory of the execution context' },
    source: 'Created execution context with device memory size: … MiB',
    says: 'The device memory of one execution context for activations. The allocation strategy selects the shapes: the largest of all profiles, the largest of this profile, or those that run.',
    caveats:
      'It does not include the weights, the CUDA context, or inputs and outputs. Each further stream needs one more context. TensorRT before 9 does not print it.',
  },
  memoryMib: {
    shown: ['gpu-memory', 'GPU memory', 'MiB', 'lower'],
    stored: { table: 'runTelemetry', column: 'memoryUsedMaxMib' },
    source: 'no line of trtexec: nvidia-smi, once a second while the run is timed',
    says: 'The peak memory in use on the GPU during the run: weights, activations, buffers, kernels and the CUDA context. It shows what a weight-streaming budget saves.',
    caveats:
      'It includes memory of other processes on the GPU (see the flag contended). It misses short peaks between two samples. Runs without telemetry, imports and recordings have none.',
  },
  processMemoryMib: {
    shown: ['process-memory', 'GPU memory of the process', 'MiB', 'lower'],
    stored: { table: 'runTelemetry', column: 'processMemoryMaxMib' },
    source: 'no line of trtexec: nvidia-smi pmon, once a second while the run is timed',
    says: 'The most memory of the GPU that trtexec held during the run: weights, activations, buffers, kernels and the CUDA context.',
    caveats:
      'Other processes are not in it. nvidia-smi lists no process of a container with process numbers of its own, and no memory of a process on a MIG device: then there is none. A short peak between two looks is missed. Runs without telemetry, imports and recordings have none.',
  },
  hostMemoryMib: {
    shown: ['host-memory', 'host memory', 'MiB', 'lower'],
    stored: { table: 'runTelemetry', column: 'hostMemoryMaxMib' },
    source: 'no line of trtexec: VmHWM in /proc/PID/status, five times a second during the run',
    says: 'The peak resident memory of trtexec on the host: the engine file while it is loaded, the libraries of TensorRT and CUDA, and pinned buffers.',
    caveats:
      'Loading is in it, building is not: engines are built by another process. Of several processes it is that of the largest. What a process takes in its last 0.2 s may be missed. Runs without telemetry, imports and recordings have none.',
  },
  temperatureC: {
    shown: ['temperature', 'GPU temperature', '°C', 'lower'],
    stored: { table: 'runTelemetry', column: 'temperatureMaxC' },
    source: 'no line of trtexec: nvidia-smi, once a second while the run is timed',
    says: 'The highest temperature of the GPU during the run. A hotter GPU reaches the power cap sooner: check it if times grow over months.',
    caveats:
      'It depends on the room, on earlier runs and on the duration. If the GPU slows down because of its temperature, the run is flagged as throttled. Runs without telemetry have none.',
  },
  smClockMhz: {
    shown: ['sm-clock', 'SM clock', 'MHz', 'higher'],
    stored: { table: 'runTelemetry', column: 'smClockMhz' },
    source: 'no line of trtexec: nvidia-smi, once a second while the run is timed',
    says: 'The median clock of the multiprocessors during the run. At a lower clock, every engine is slower.',
    caveats:
      'bench samples the clock once a second, but clocks change within milliseconds. A locked clock is the same in every run. Runs without telemetry have none.',
  },
  powerW: {
    shown: ['power', 'power', 'W', 'lower'],
    stored: { table: 'runTelemetry', column: 'powerW' },
    source: 'no line of trtexec: nvidia-smi, once a second while the run is timed',
    says: 'The median power of the whole board during the run. At the power limit, the GPU lowers its clocks (bound by power).',
    caveats:
      'An engine with more power for a shorter time may need less energy: compare energy. The input values matter: zeros need less power. Runs without telemetry have none.',
  },
  loadS: {
    shown: ['load-time', 'engine load time', 's', 'lower'],
    stored: { table: 'runHints', hint: 'engine_loaded_s', of: 'run' },
    source: 'Engine deserialized in … sec.',
    says: 'The time that TensorRT took to load the engine: reading the file, if trtexec streams it, and copying the weights to the GPU.',
    caveats:
      'By default, 11.x reads the whole file before this time starts, and the asynchronous loader reads during it: do not compare the two. A file that was just read is in the page cache and loads faster than after a restart. Refitting stripped weights is not included.',
  },
  firstInferenceMs: {
    shown: ['first-inference', 'first inference', 'ms', 'lower'],
    stored: { table: 'runValues' },
    source: 'the first row of --exportTimes, of a separate run with --warmUp=0',
    says: 'Copies and compute of the first query of a process, with its one-time costs: lazily loaded kernels, memory allocation, low clocks. Cells of `coldStart:` in a matrix have it, together with load-time.',
    caveats:
      'It does not include the CUDA context, the execution context and reading the file. bench drops no caches, so the file is in host memory: after a restart of the machine, loading takes longer.',
  },
  refitMs: {
    shown: ['refit-time', 'refit time', 'ms', 'lower'],
    stored: { table: 'runHints', hint: 'engine_refitted_ms', of: 'build' },
    source: 'Engine refitted in … ms.',
    says: 'The mean of ten refits of the engine with its own weights, timed by the build (weights: refittable, or --refit and --timeRefit under build.flags).',
    caveats:
      'It does not include an earlier first refit. The weights come from memory; reading them from the ONNX file takes longer than the refit in most models.',
  },
  outputErrorPercent: {
    shown: ['output-error', 'output error', '%', 'lower'],
    stored: { table: 'accuracies' },
    bencher: { slug: 'output-error-percent' },
    openMetrics: { name: 'output_error', help: 'Relative error of the outputs against those of the reference' },
    source: 'no line of trtexec: bench model accuracy, by onnxruntime',
    says: 'The relative error of the outputs of a variant, compared with its reference on the same inputs: the square root of error power over signal power. 10 % is a signal-to-noise ratio (SQNR) of 20 dB. With several outputs, it is that of the worst.',
    caveats:
      'bench computes it from the ONNX files on a CPU, unless outputs of engines were compared; the kernels of an engine round differently. Random inputs differ from real ones, and a small error does not guarantee the accuracy of the task.',
  },
} satisfies Readonly<Record<string, MetricDefinition>>;

export type OwnMetricId = keyof typeof METRICS;

export function isOwnMetric(id: string): id is OwnMetricId {
  return Object.hasOwn(METRICS, id);
}

export const METRIC_IDS = keysOf(METRICS);

/** Returns `gpu` for gpuComputeMs; for another harness, the name that it gives. */
export function metricWord(id: MetricId): string {
  return isOwnMetric(id) ? METRICS[id].shown[0] : metricOf(id).label;
}

export const METRIC_WORDS = METRIC_IDS.map(metricWord);

/** Finds a metric by its word or its ID. */
export function ownMetricNamed(name: string): OwnMetricId | undefined {
  if (name === 'qps') return 'throughputQps';
  return METRIC_IDS.find((id) => id === name || METRICS[id].shown[0] === name);
}

/** The metric that a word of the command line names: one of bench, or `name:direction:unit` of a harness. */
export function metricOfWord(word: string): MetricId | null {
  return ownMetricNamed(word) ?? (isCustomMetric(word) ? word : null);
}

/** A metric of a harness: `ttft:lower:ms`. With another unit or direction it is another metric. */
export type CustomMetricId = `${string}:${Direction}:${string}`;

export type MetricId = OwnMetricId | CustomMetricId;

/** A metric of a harness other than trtexec, or of a cold start. */
export type ReadMetricId = CustomMetricId | 'firstInferenceMs';

export const metricSchema = z
  .union([z.enum(METRIC_IDS), z.templateLiteral([z.string(), ':', z.enum(DIRECTIONS), ':', z.string()])])
  .describe('One of bench, or NAME:lower|higher:UNIT of another harness');

/** The values of a run. Another harness may have only custom metrics. */
export type MetricValues = Readonly<Record<OwnMetricId, number | null>> &
  Readonly<Partial<Record<CustomMetricId, number>>>;

export function metricDefinition(id: OwnMetricId): MetricDefinition {
  return METRICS[id];
}

export function byMetric<Value>(of: (id: OwnMetricId) => Value): Record<OwnMetricId, Value>;
export function byMetric(of: (id: OwnMetricId) => unknown): object {
  return Object.fromEntries(METRIC_IDS.map((id) => [id, of(id)]));
}

/** Whether there is one value per build, regardless of the number of runs of its engine. */
export function isOfBuild(metric: MetricId): boolean {
  if (!isOwnMetric(metric)) return false;
  const { stored } = metricDefinition(metric);
  return stored.table === 'builds' || (stored.table === 'runHints' && stored.of === 'build');
}

const CUSTOM = /^([A-Za-z][\w.-]{0,59}):(lower|higher):([^\s:\p{C}]{1,20})$/u;

export function isCustomMetric(id: string): id is CustomMetricId {
  return CUSTOM.test(id);
}

export function isMetric(id: string): id is MetricId {
  return isOwnMetric(id) || isCustomMetric(id);
}

/**
 * @param name letters, digits and `_.-`
 * @param unit without spaces and colons
 */
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

/** The metric by which a cell is judged. With several streams, latencies overlap and only throughput is meaningful. */
export function gateMetric(
  requested: MetricId | null,
  cell: { readonly streams: number; readonly harness?: { readonly metric: MetricId } },
): MetricId {
  return requested ?? cell.harness?.metric ?? (cell.streams > 1 ? 'throughputQps' : 'gpuComputeMs');
}

const OVERLAPPING: readonly string[] = ['gpuComputeMs', 'latencyMs', 'p99Ms'];

/** Whether this is a time of queries that overlap, of which no change is judged. */
export function isOverlapping(cell: Parameters<typeof gateMetric>[1], metric: string): boolean {
  return cell.streams > 1 && OVERLAPPING.includes(metric) && gateMetric(null, cell) !== metric;
}
