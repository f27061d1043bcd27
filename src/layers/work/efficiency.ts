import * as z from 'zod';

import { type Immutable, numberOrNull } from '../../records/scalars.ts';
import type { LayerFacts } from '../layer-facts.ts';
import { parseTactic } from '../layer-name.ts';
import type { EngineConditions } from '../profiled-engine.ts';
import { type LayerWork, type NetworkWork, flopsOf, layerWork } from './layer-work.ts';
import { computedIn } from '../real-precision.ts';

/** The position of a layer under the roofline of its GPU. Null: unknown. */
export const efficiencySchema = z.strictObject({
  flops: numberOrNull.describe(
    'FLOPs of matrix products and convolutions for one query; multiply and add count as two',
  ),
  bytes: numberOrNull.describe('Bytes read and written, counting each tensor once'),
  precision: z.string().nullable().describe('Precision of its matrix products'),
  peakShare: numberOrNull.describe('Share of the dense peak of that precision at the GPU clock, from 0 to 1'),
  bandwidthShare: numberOrNull.describe('Share of the memory bandwidth; above 1 the data came from a cache'),
  flopPerByte: numberOrNull.describe('Arithmetic intensity'),
  ridge: numberOrNull.describe('FLOP/byte above which compute is the limit'),
  bound: z.enum(['compute', 'memory']).nullable().describe('Its limit, by the side of the ridge'),
});

export type Efficiency = Immutable<z.infer<typeof efficiencySchema>>;

/** A GPU at the clock during the run. */
type ClockedGpu = Exclude<ReturnType<typeof clockedGpu>, string>;

/** @param gpu null if its peaks or its clock are unknown */
function layerEfficiency(layer: LayerFacts, { bytes, flops }: LayerWork, gpu: ClockedGpu | null): Efficiency {
  const seconds = layer.averageMs > 0 ? layer.averageMs / 1000 : null;
  const isProduct = flops !== null && flops > 0;
  const precision = isProduct ? productPrecision(layer) : null;
  const peak = precision === null ? null : peakOf(precision, gpu);
  const memory = gpu === null ? null : gpu.peaks.memoryGBs * 1e9;
  const flopPerByte = ratio(flops, bytes);
  // Layers without products run outside of the tensor cores, at least as fast as in FP32.
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
  flops: numberOrNull.describe('FLOPs of all matrix products and convolutions; null if one node is unknown'),
  gpu: z.string().nullable(),
  smClockMhz: numberOrNull.describe('Clock used for the peak'),
  clockFrom: z
    .enum(['measured', 'highest', 'published'])
    .nullable()
    .describe(
      'measured: while it ran; highest: maximum by the driver; published: by NVIDIA. The last two give minimum shares',
    ),
  knownShare: numberOrNull.describe('Share of the FLOPs in layers with a known precision'),
  tflopsPerS: numberOrNull.describe('10^12 FLOPs per second'),
  peakShare: numberOrNull.describe(
    'Share of the dense peak, each layer by its precision; unknown layers count as zero',
  ),
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
  const about = { gpu: conditions.gpuName, smClockMhz: gpu?.clockMhz ?? null, clockFrom: gpu?.from ?? null };
  const isOther = typeof found !== 'string' && !isModelOf(found.work, layers);
  const model = isOther ? `most ONNX nodes of the engine are not in ${found.name}: another model` : found;
  if (typeof model === 'string') {
    const nothing = { flops: null, knownShare: null, tflopsPerS: null, peakShare: null };
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
  return { engine: { onnx, flops, ...about, ...reached, missing }, layers: each };
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

const MOST_NAMED = 4;

function clockedGpu({ gpuName, maxSmClockMhz, mig, smClockMhz }: EngineConditions) {
  if (gpuName === null) return 'its GPU is not known';
  if (mig === 'on') return 'a part of a GPU (MIG): its peak is not known';
  const peaks = peaksOf(gpuName);
  if (peaks === null) return `the peaks of ${gpuName} are not known here`;
  if (smClockMhz !== null) return { peaks, clockMhz: smClockMhz, from: 'measured' as const };
  if (maxSmClockMhz !== null) return { peaks, clockMhz: maxSmClockMhz, from: 'highest' as const };
  return { peaks, clockMhz: peaks.highestMhz ?? peaks.boostMhz, from: 'published' as const };
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

/** Dense FLOP of one SM per clock, without sparsity; `fp32` runs without tensor cores. Omits precisions that they lack. */
type PerClock = Readonly<Record<string, number>>;

const VOLTA: PerClock = { fp32: 128, fp16: 1024 };
const TURING: PerClock = { fp32: 128, fp16: 1024, int8: 2048, int4: 4096 };
const AMPERE: PerClock = { fp32: 128, tf32: 1024, fp16: 2048, bf16: 2048, int8: 4096, int4: 8192 };
/** Graphics cards and cards with the same chips: A10, A40, RTX A6000. */
const GA10X: PerClock = { fp32: 256, tf32: 512, fp16: 1024, bf16: 1024, int8: 2048, int4: 4096 };
const ADA: PerClock = { ...GA10X, fp8: 2048 };
/** GeForce cards run at half the rate when they accumulate in FP32, as TF32 and BF16 always do. */
const GEFORCE_ADA: PerClock = { ...ADA, tf32: 256, bf16: 512 };
const HOPPER: PerClock = { fp32: 256, tf32: 2048, fp16: 4096, bf16: 4096, fp8: 8192, int8: 8192 };

type GpuPeaks = (typeof GPU_PEAKS)[number];

/**
 * Chips whose SMs, clock and peaks NVIDIA publishes. A card that is not listed has no peak. A test derives each
 * published peak from SMs, operations and clock. Sources: NVIDIA's whitepapers on the architectures H100, A100, Ampere
 * GA102, Ada, Turing and Volta, and the datasheets of the cards.
 *
 * `names` are those of nvidia-smi, without `NVIDIA` or `Tesla`; the peaks are published for the boost clock;
 * `highestMhz` is the highest published clock of the card, if it is above the boost clock.
 */
export const GPU_PEAKS = [
  { names: ['H200'], sms: 132, boostMhz: 1830, memoryGBs: 4800, perClock: HOPPER, highestMhz: 1980 },
  { names: ['H100 80GB HBM3'], sms: 132, boostMhz: 1830, memoryGBs: 3350, perClock: HOPPER, highestMhz: 1980 },
  { names: ['H100 PCIe'], sms: 114, boostMhz: 1620, memoryGBs: 2000, perClock: HOPPER, highestMhz: 1755 },
  { names: ['A100-SXM4-80GB'], sms: 108, boostMhz: 1410, memoryGBs: 2039, perClock: AMPERE },
  { names: ['A100 80GB PCIe'], sms: 108, boostMhz: 1410, memoryGBs: 1935, perClock: AMPERE },
  { names: ['A100-SXM4-40GB', 'A100-PCIE-40GB'], sms: 108, boostMhz: 1410, memoryGBs: 1555, perClock: AMPERE },
  { names: ['A30'], sms: 56, boostMhz: 1440, memoryGBs: 933, perClock: AMPERE },
  { names: ['A10'], sms: 72, boostMhz: 1695, memoryGBs: 600, perClock: GA10X },
  { names: ['A40'], sms: 84, boostMhz: 1740, memoryGBs: 696, perClock: GA10X },
  { names: ['RTX A6000'], sms: 84, boostMhz: 1800, memoryGBs: 768, perClock: GA10X },
  { names: ['L4'], sms: 58, boostMhz: 2040, memoryGBs: 300, perClock: ADA },
  { names: ['L40S'], sms: 142, boostMhz: 2520, memoryGBs: 864, perClock: ADA },
  { names: ['RTX 6000 Ada Generation'], sms: 142, boostMhz: 2505, memoryGBs: 960, perClock: ADA },
  { names: ['GeForce RTX 4090'], sms: 128, boostMhz: 2520, memoryGBs: 1008, perClock: GEFORCE_ADA },
  { names: ['T4'], sms: 40, boostMhz: 1590, memoryGBs: 320, perClock: TURING },
  { names: ['V100-SXM2-16GB', 'V100-SXM2-32GB'], sms: 80, boostMhz: 1530, memoryGBs: 900, perClock: VOLTA },
];

/** Null for a card that is not in the table. @param name name from nvidia-smi or trtexec */
export function peaksOf(name: string): GpuPeaks | null {
  const short = name.replace(/^(?:(?:NVIDIA|Tesla) )+/, '').toLowerCase();
  return GPU_PEAKS.find(({ names }) => names.some((known) => known.toLowerCase() === short)) ?? null;
}

/** Dense FLOP/s at a clock; null for a precision that its tensor cores lack. */
export function peakFlops({ perClock, sms }: GpuPeaks, precision: string, clockMhz: number): number | null {
  const perSm = perClock[precision];
  return perSm === undefined ? null : sms * perSm * clockMhz * 1e6;
}
