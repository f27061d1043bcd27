import * as z from 'zod';

import { count, type Immutable, numberOrNull } from '../records/scalars.ts';
import type { LayerGrouping } from './layer-info.ts';
import { knownNodes, type LayerFacts, type LayerKind } from './layer-facts.ts';
import { scopeOf, withoutNumbers } from './layer-name.ts';
import { parseTactic } from './tactic.ts';

export interface LayerGroup {
  readonly key: string;
  readonly layers: readonly LayerFacts[];
  readonly totalMs: number;
}

/**
 * Groups layers by all of the groupings together, longest time first.
 * @param depth depth of `scope` in parts of the path
 */
export function groupLayers(
  layers: readonly LayerFacts[],
  groupings: readonly LayerGrouping[],
  depth: number,
): LayerGroup[] {
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

const timeShare = z.number().min(0).max(1);

/** Totals over the layers of an engine. Times are per query, with the profiler attached. */
export const layersSummarySchema = z.strictObject({
  layers: count,
  totalMs: z.number(),
  overheadMs: z.strictObject({ reformat: z.number(), cast: z.number(), shape: z.number() }),
  /** Share of the time in layers whose content is not visible. */
  opaqueShare: timeShare,
  /** Shares of the time by the input type of the layers. */
  precisionShares: z.array(z.strictObject({ precision: z.string(), share: timeShare })),
  /** Share of the time in kernels for an older GPU architecture than the newest one in use. */
  olderKernelShare: timeShare,
  newestArchitecture: numberOrNull,
  /** Minimum and maximum host time of the launches without a CUDA graph, in ms: 5 to 15 µs each. */
  launchFloorMs: z.tuple([z.number(), z.number()]),
});

export type LayersSummary = Immutable<z.infer<typeof layersSummarySchema>>;

/** Host time of a launch according to TensorRT's guide: 5 to 15 µs. */
const LAUNCH_MS = [0.005, 0.015] as const;

/** @param totalMs time of all layers, if not all of them are listed */
export function summarizeLayers(layers: readonly LayerFacts[], totalMs = sumMs(layers)): LayersSummary {
  const share = (chosen: (layer: LayerFacts) => boolean): number =>
    totalMs > 0 ? sumMs(layers.filter(chosen)) / totalMs : 0;
  const kindMs = (kind: LayerKind): number => sumMs(layers.filter((layer) => layer.kind === kind));
  const newest = layers.reduce<number | null>((found, layer) => {
    const of = architecture(layer);
    return of === null ? found : Math.max(found ?? 0, of);
  }, null);
  const launches = layers.filter(({ averageMs }) => averageMs > 0).length;
  return {
    layers: layers.length,
    totalMs,
    overheadMs: { reformat: kindMs('reformat'), cast: kindMs('cast'), shape: kindMs('shape') },
    opaqueShare: share(({ isOpaque }) => isOpaque),
    precisionShares: groupLayers(layers, ['precision'], 1).map(({ key, totalMs: ms }) => ({
      precision: key,
      share: totalMs > 0 ? ms / totalMs : 0,
    })),
    olderKernelShare: share((layer) => {
      const of = architecture(layer);
      return of !== null && newest !== null && of < newest;
    }),
    newestArchitecture: newest,
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

export function sumMs(layers: readonly LayerFacts[]): number {
  return layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
}
