import * as z from 'zod';

import { type Immutable, count, numberOrNull } from '../records/scalars.ts';
import { type LayerFacts, type LayerKind, knownNodes } from './layer-facts.ts';
import type { LayerGrouping } from '../records/layer-info.ts';
import { parseTactic, scopeOf, withoutNumbers } from './layer-name.ts';
import { isConvolution } from './profiled-engine.ts';
import { sumMs, computedIn } from './real-precision.ts';

export type LayerGroup = ReturnType<typeof groupLayers>[number];

/**
 * Groups layers by all of the groupings together, longest time first.
 * @param depth depth of `scope` in parts of the path
 */
export function groupLayers(layers: readonly LayerFacts[], groupings: readonly LayerGrouping[], depth: number) {
  const keyOf = (layer: LayerFacts): string => groupings.map((grouping) => wordOf(layer, grouping, depth)).join(' · ');
  return [...Map.groupBy(layers, keyOf)]
    .map(([key, members]) => ({ key, layers: members, totalMs: sumMs(members) }))
    .toSorted((a, b) => b.totalMs - a.totalMs);
}

function wordOf(layer: LayerFacts, grouping: LayerGrouping, depth: number): string {
  const [node] = knownNodes(layer);
  switch (grouping) {
    case 'type':
      return layer.type ?? 'unknown type';
    case 'precision':
      return layer.precisionIn ?? 'unknown precision';
    case 'kind':
      return layer.kind;
    case 'block':
      return layer.block ?? `no ONNX node (${layer.kind})`;
    case 'scope':
      return node === undefined ? `no ONNX node (${layer.kind})` : scopeOf(node, depth);
    case 'node':
      return node === undefined ? layer.stableName : withoutNumbers(node);
  }
}

const shareOfTime = z.number().min(0).max(1);

/** Totals over the layers of an engine. Times are per query, with the profiler attached. */
export const layersSummarySchema = z.strictObject({
  layers: count,
  totalMs: z.number(),
  overheadMs: z.strictObject({ reformat: z.number(), quantize: z.number(), cast: z.number(), shape: z.number() }),
  /** Share of the time in layers whose content is not visible. */
  opaqueShare: shareOfTime,
  /** Shares of the time by the input type of the layers. */
  precisionShares: z.array(z.strictObject({ precision: z.string(), share: shareOfTime })),
  /** Share of the time in kernels for an older GPU architecture than the newest: of a kernel, or of the GPU. */
  olderKernelShare: shareOfTime,
  newestArchitecture: numberOrNull,
  /** Minimum and maximum host time of the launches without a CUDA graph, in ms: 5 to 15 µs each. */
  launchFloorMs: z.tuple([z.number(), z.number()]),
});

export type LayersSummary = Immutable<z.infer<typeof layersSummarySchema>>;

/** Host time of a launch according to TensorRT's guide: 5 to 15 µs. */
const LAUNCH_MS = [0.005, 0.015] as const;

/**
 * @param totalMs time of all layers, if not all of them are listed
 * @param computeCapability of the GPU, such as `9.0`
 */
export function summarizeLayers(
  layers: readonly LayerFacts[],
  totalMs = sumMs(layers),
  computeCapability: string | null = null,
): LayersSummary {
  const share = (chosen: (layer: LayerFacts) => boolean): number =>
    totalMs > 0 ? sumMs(layers.filter(chosen)) / totalMs : 0;
  const msOf = (kind: LayerKind): number => sumMs(layers.filter((layer) => layer.kind === kind));
  const ofGpu = Number(computeCapability?.replace('.', '') ?? 0) || 0;
  const newest = Math.max(ofGpu, ...layers.map((layer) => architecture(layer) ?? 0));
  const launches = layers.filter(({ averageMs }) => averageMs > 0).length;
  return {
    layers: layers.length,
    totalMs,
    overheadMs: { reformat: msOf('reformat'), quantize: msOf('quantize'), cast: msOf('cast'), shape: msOf('shape') },
    opaqueShare: share(({ isOpaque }) => isOpaque),
    precisionShares: groupLayers(layers, ['precision'], 1).map((group) => ({
      precision: group.key,
      share: totalMs > 0 ? group.totalMs / totalMs : 0,
    })),
    olderKernelShare: share((layer) => (architecture(layer) ?? newest) < newest),
    newestArchitecture: newest > 0 ? newest : null,
    launchFloorMs: [launches * LAUNCH_MS[0], launches * LAUNCH_MS[1]],
  };
}

const ISLAND_SHARE = 0.02;

/** Groups that compute in 16 bits or more with a considerable share of the time: islands in a quantized network. */
export function precisionIslands(layers: readonly LayerFacts[]): LayerGroup[] {
  const wide = layers.filter(
    ({ kind, precisionIn }) => kind === 'compute' && /^(?:fp|bf|tf)(?:16|32)$/.test(precisionIn ?? ''),
  );
  const least = ISLAND_SHARE * sumMs(layers);
  return groupLayers(wide, ['node', 'precision'], 1).filter(({ totalMs }) => totalMs >= least);
}

function architecture({ tactic }: LayerFacts): number | null {
  return tactic === null ? null : parseTactic(tactic).architecture;
}

const CHANNEL_MULTIPLES: Readonly<Record<string, number>> = { fp16: 8, bf16: 8, fp8: 16, int8: 16 };

/**
 * Number of channels that tensor cores process at once (source: the linter of trt-engine-explorer); 1 for types that
 * they do not support.
 */
export function channelMultiple(layer: LayerFacts): number {
  return CHANNEL_MULTIPLES[computedIn(layer)] ?? 1;
}

/**
 * Convolutions and matrix products whose channels are not a multiple of that number. The input of the first convolution
 * does not count, because images have three channels.
 */
export function unalignedLayers(layers: readonly LayerFacts[]): LayerFacts[] {
  const first = layers.find(({ type, channels }) => channels !== null && isConvolution(type));
  return layers.filter((layer) => {
    const counted = layer === first ? layer.channels?.slice(1) : layer.channels;
    return counted?.some((channels) => channels > 0 && channels % channelMultiple(layer) !== 0);
  });
}
