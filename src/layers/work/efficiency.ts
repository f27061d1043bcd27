import * as z from 'zod';

import { type Immutable, numberOrNull } from '../../records/scalars.ts';
import type { LayerFacts } from '../layer-facts.ts';
import { computedIn } from '../real-precision.ts';
import { parseTactic } from '../tactic.ts';
import { type GpuPeaks, peakFlops } from './gpu-peaks.ts';
import type { LayerWork } from './layer-work.ts';

const share = numberOrNull;

/** Where a layer lies under the roof of its GPU. Null: not known. */
export const efficiencySchema = z.strictObject({
  flops: numberOrNull.describe('Of matrix products and convolutions, for one query; multiply and add are two'),
  otherFlops: numberOrNull.describe('Of all else'),
  bytes: numberOrNull.describe('Read and written, each tensor once'),
  precision: z.string().nullable().describe('That its matrix products are computed in'),
  peakShare: share.describe('Of the dense peak of that precision at the clock, from 0 to 1'),
  bandwidthShare: share.describe('Of the bandwidth of the memory; above 1 it came from a cache'),
  flopPerByte: numberOrNull.describe('Arithmetic intensity'),
  ridge: numberOrNull.describe('FLOP/byte from which on compute is the limit'),
  bound: z.enum(['compute', 'memory']).nullable().describe('The side of the ridge that it lies on'),
});

export type Efficiency = Immutable<z.infer<typeof efficiencySchema>>;

/** A GPU at the clock that it ran at. */
export interface ClockedGpu {
  readonly peaks: GpuPeaks;
  readonly clockMhz: number;
}

/** @param gpu null where its peaks or its clock are not known */
export function layerEfficiency(layer: LayerFacts, work: LayerWork, gpu: ClockedGpu | null): Efficiency {
  const { bytes, matrixFlops: flops, otherFlops } = work;
  const seconds = layer.averageMs > 0 ? layer.averageMs / 1000 : null;
  const isProduct = flops !== null && flops > 0;
  const precision = isProduct ? productPrecision(layer) : null;
  const peak = precision === null ? null : peakOf(precision, gpu);
  const memory = gpu === null ? null : gpu.peaks.memoryGBs * 1e9;
  // What is no matrix product runs outside of the tensor cores, at least as fast as in FP32.
  const roof = flops === 0 ? peakOf('fp32', gpu) : peak;
  const all = flops === null || otherFlops === null ? null : flops + otherFlops;
  const flopPerByte = ratio(all, bytes);
  const ridge = ratio(roof, memory);
  return {
    flops,
    otherFlops,
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
 * As the kernel says it: of `f32f32_tf32f32_f32` the second part. FP32 of a kernel that says nothing may be TF32, which
 * engines use by default: not known.
 */
export function productPrecision(layer: LayerFacts): string | null {
  const types = layer.tactic === null ? null : parseTactic(layer.tactic).types;
  if (types !== null && /_tf32/.test(types)) return 'tf32';
  const precision = computedIn(layer);
  return precision === 'unknown' || (precision === 'fp32' && types === null) ? null : precision;
}

/** Of one query of an engine. */
export const engineEfficiencySchema = z.strictObject({
  gpu: z.string(),
  peakSource: z.string().describe('Who publishes the peaks'),
  clockMhz: z.number(),
  clockFrom: z.enum(['measured', 'highest']).describe('highest: none was measured, shares are no smaller than these'),
  onnx: z.string().describe('The model that the FLOPs are of'),
  flops: numberOrNull.describe('Of all matrix products and convolutions; null where those of a node are not known'),
  otherFlops: numberOrNull,
  knownShare: numberOrNull.describe('Of the FLOPs, in layers with a known precision'),
  tflopsPerS: numberOrNull.describe('10^12 of those FLOPs a second'),
  peakShare: share.describe('Of the dense peak, each layer by its precision; the layers that are not known left out'),
});

export type EngineEfficiency = Immutable<z.infer<typeof engineEfficiencySchema>>;

/**
 * Share of the peak that a whole query reaches: how long its products would take at the peak of their precisions, over how
 * long it takes.
 * @param total of the network
 * @param ms of a query, without the profiler
 */
export function engineShare(layers: readonly Efficiency[], total: number | null, gpu: ClockedGpu, ms: number | null) {
  let [atPeakS, known] = [0, 0];
  for (const { flops, precision } of layers) {
    const peak = precision === null ? null : peakOf(precision, gpu);
    if (flops === null || peak === null) continue;
    atPeakS += flops / peak;
    known += flops;
  }
  const seconds = ms === null || ms <= 0 ? null : ms / 1000;
  return {
    knownShare: ratio(known, total),
    tflopsPerS: total === null ? null : ratio(total / 1e12, seconds),
    peakShare: known === 0 ? null : ratio(atPeakS, seconds),
  };
}
