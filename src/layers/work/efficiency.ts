import * as z from 'zod';

import { type Immutable, numberOrNull } from '../../records/scalars.ts';
import type { LayerFacts } from '../layer-facts.ts';
import type { EngineConditions } from '../profiled-engine.ts';
import { computedIn } from '../real-precision.ts';
import { sumMs } from '../summarize-layers.ts';
import { parseTactic } from '../tactic.ts';
import { type GpuPeaks, peakFlops, peaksOf } from './gpu-peaks.ts';
import { flopsOf, layerWork, type LayerWork, type NetworkWork } from './layer-work.ts';

const timeShare = z.number().min(0).max(1);

/** The position of a layer under the roofline of its GPU. Null: unknown. */
export const efficiencySchema = z.strictObject({
  flops: numberOrNull.describe(
    'FLOPs of matrix products and convolutions for one query; multiply and add count as two',
  ),
  bytes: numberOrNull.describe('Read and written, each tensor once'),
  precision: z.string().nullable().describe('Precision of its matrix products'),
  peakShare: numberOrNull.describe('Share of the dense peak of that precision at the clock, from 0 to 1'),
  bandwidthShare: numberOrNull.describe('Share of the memory bandwidth; above 1 the data came from a cache'),
  flopPerByte: numberOrNull.describe('Arithmetic intensity'),
  ridge: numberOrNull.describe('FLOP/byte from which on compute is the limit'),
  bound: z.enum(['compute', 'memory']).nullable().describe('The side of the ridge that it lies on'),
});

export type Efficiency = Immutable<z.infer<typeof efficiencySchema>>;

/** A GPU at the clock during the run. */
interface ClockedGpu {
  readonly peaks: GpuPeaks;
  readonly clockMhz: number;
}

/** @param gpu null if its peaks or its clock are unknown */
function layerEfficiency(layer: LayerFacts, { bytes, flops }: LayerWork, gpu: ClockedGpu | null): Efficiency {
  const seconds = layer.averageMs > 0 ? layer.averageMs / 1000 : null;
  const isProduct = flops !== null && flops > 0;
  const precision = isProduct ? productPrecision(layer) : null;
  const peak = precision === null ? null : peakOf(precision, gpu);
  const memory = gpu === null ? null : gpu.peaks.memoryGBs * 1e9;
  const flopPerByte = ratio(flops, bytes);
  // Other work than matrix products runs outside of the tensor cores, at least as fast as in FP32.
  const ridge = ratio(flops === 0 ? peakOf('fp32', gpu) : peak, memory);
  return {
    flops,
    bytes,
    precision,
    peakShare: isProduct ? ratio(ratio(flops, seconds), peak) : null,
    bandwidthShare: ratio(ratio(bytes, seconds), memory),
    flopPerByte,
    ridge,
    bound: flopPerByte === null || ridge === null ? null : flopPerByte >= ridge ? 'compute' : 'memory',
  };
}

function peakOf(precision: string, gpu: ClockedGpu | null): number | null {
  return gpu === null ? null : peakFlops(gpu.peaks, precision, gpu.clockMhz);
}

function ratio(a: number | null, b: number | null): number | null {
  return a === null || b === null || b === 0 ? null : a / b;
}

/**
 * The precision of a product according to its kernel: in `f32f32_tf32f32_f32` the second part. Unknown for an FP32
 * kernel without types, which may use TF32 by default.
 */
function productPrecision(layer: LayerFacts): string | null {
  const types = layer.tactic === null ? null : parseTactic(layer.tactic).types;
  if (types !== null && /_tf32/.test(types)) return 'tf32';
  const precision = computedIn(layer);
  return precision === 'unknown' || (precision === 'fp32' && types === null) ? null : precision;
}

/** Efficiency of one query of an engine. */
export const engineEfficiencySchema = z.strictObject({
  onnx: z.string().nullable().describe('The model whose nodes were counted'),
  flops: numberOrNull.describe('FLOPs of all matrix products and convolutions; null if those of a node are unknown'),
  gpu: z.string().nullable(),
  peakSource: z.string().nullable().describe('Who publishes the peaks of this GPU'),
  smClockMhz: numberOrNull.describe('Clock that the peak is for'),
  clockFrom: z
    .enum(['measured', 'highest', 'published'])
    .nullable()
    .describe('While it ran; else the highest of the card, as the driver or NVIDIA states it: shares are no smaller'),
  knownShare: numberOrNull.describe('Share of the FLOPs in layers with a known precision'),
  tflopsPerS: numberOrNull.describe('10^12 of those FLOPs a second'),
  peakShare: numberOrNull.describe(
    'Share of the dense peak, each layer by its precision; unknown layers count as zero',
  ),
  timeShares: z
    .strictObject({
      compute: timeShare,
      memory: timeShare,
      farBelow: timeShare.describe('Time in layers that reach less than a tenth of both limits'),
    })
    .nullable()
    .describe('Of the time of all layers, in those on either side of the ridge'),
  missing: z.array(z.string()).describe('What is unknown, and why'),
});

export type EngineEfficiency = Immutable<z.infer<typeof engineEfficiencySchema>>;

/** An ONNX model at the shapes of one cell. */
export interface ShapedModel {
  readonly name: string;
  readonly work: NetworkWork;
}

/**
 * How much of its GPU an engine uses, as a whole and layer by layer.
 * @param found the model from which the engine was built, or why it is unknown
 * @param ms time of a query without the profiler
 */
export function engineEfficiency(
  layers: readonly LayerFacts[],
  found: ShapedModel | string,
  conditions: EngineConditions,
  ms: number | null,
): { readonly engine: EngineEfficiency; readonly layers: readonly Efficiency[] | null } {
  const clocked = clockedGpu(conditions);
  const gpu = typeof clocked === 'string' ? null : clocked;
  const missing = typeof clocked === 'string' ? [clocked] : [];
  const about = {
    gpu: conditions.gpuName,
    peakSource: gpu?.peaks.source ?? null,
    smClockMhz: gpu?.clockMhz ?? null,
    clockFrom: gpu?.from ?? null,
  };
  const model =
    typeof found === 'string' || isModelOf(found.work, layers)
      ? found
      : `most ONNX nodes of the engine are not in ${found.name}: another model`;
  if (typeof model === 'string') {
    const nothing = { flops: null, knownShare: null, tflopsPerS: null, peakShare: null, timeShares: null };
    return { engine: { onnx: null, ...about, ...nothing, missing: [model, ...missing] }, layers: null };
  }
  const { name: onnx, work } = model;
  const workOf = layerWork(layers, work);
  const each = layers.map((layer) => layerEfficiency(layer, workOf(layer), gpu));
  const flops = flopsOf(work.nodes);
  const unknown = [...new Set(work.nodes.flatMap((node) => (node.flops === null ? node.operator : [])))];
  if (unknown.length > 0) missing.unshift(`FLOPs of ${unknown.slice(0, MOST_NAMED).join(', ')} are not known`);
  const reached = engineShare(each, flops, gpu, ms);
  if (gpu !== null && reached.peakShare === null) missing.push(`no layer with known FLOPs and precision`);
  const timeShares = timeSharesOf(layers, each);
  return { engine: { onnx, flops, ...about, ...reached, timeShares, missing }, layers: each };
}

/**
 * Whether a network has at least half of the nodes that the engine names. Networks of one exporter have a few names in
 * common.
 */
function isModelOf({ nodes, weights }: NetworkWork, layers: readonly LayerFacts[]): boolean {
  const names = new Set([...nodes.map(({ name }) => name), ...weights]);
  const origins = new Set(layers.flatMap((layer) => layer.nodes));
  return 2 * [...origins].filter((name) => names.has(name)).length >= origins.size;
}

function timeSharesOf(layers: readonly LayerFacts[], each: readonly Efficiency[]): EngineEfficiency['timeShares'] {
  const totalMs = sumMs(layers);
  if (totalMs <= 0 || each.every(({ bound }) => bound === null)) return null;
  const of = (isOne: (layer: Efficiency) => boolean): number =>
    each.reduce((ms, layer, place) => ms + (isOne(layer) ? (layers[place]?.averageMs ?? 0) : 0), 0) / totalMs;
  return {
    compute: of(({ bound }) => bound === 'compute'),
    memory: of(({ bound }) => bound === 'memory'),
    farBelow: of(
      ({ bandwidthShare, bound, peakShare }) =>
        bound !== null && Math.max(bandwidthShare ?? 0, peakShare ?? 0) < FAR_BELOW,
    ),
  };
}

/** Share of either roof below which a layer is far from both. */
const FAR_BELOW = 0.1;

const MOST_NAMED = 4;

function clockedGpu({ gpuName, maxSmClockMhz, mig, smClockMhz }: EngineConditions) {
  if (gpuName === null) return 'which GPU it ran on is not known';
  const peaks = mig === 'on' ? null : peaksOf(gpuName);
  if (mig === 'on') return 'a part of a GPU (MIG): its peak is not known';
  if (peaks === null) return `the peaks of ${gpuName} are not known here`;
  const [clockMhz, from] =
    smClockMhz !== null
      ? ([smClockMhz, 'measured'] as const)
      : maxSmClockMhz !== null
        ? ([maxSmClockMhz, 'highest'] as const)
        : ([peaks.highestMhz, 'published'] as const);
  return { peaks, clockMhz, from };
}

/**
 * Share of the peak that a whole query reaches: the time of its products at the peak of their precisions, over the time
 * of the query.
 */
function engineShare(layers: readonly Efficiency[], total: number | null, gpu: ClockedGpu | null, ms: number | null) {
  let [atPeakS, known] = [0, 0];
  for (const { flops, precision } of layers) {
    const peak = precision === null ? null : peakOf(precision, gpu);
    if (flops === null || peak === null) continue;
    atPeakS += flops / peak;
    known += flops;
  }
  const seconds = ms === null || ms <= 0 ? null : ms / 1000;
  return {
    knownShare: gpu === null ? null : ratio(known, total),
    tflopsPerS: total === null ? null : ratio(total / 1e12, seconds),
    peakShare: known === 0 ? null : ratio(atPeakS, seconds),
  };
}
