import * as z from 'zod';

import { layerTensorSchema } from '../records/layer-info.ts';
import { count, type Immutable, textOrNull } from '../records/scalars.ts';
import type { JoinedLayer } from './profiled-engine.ts';
import { blockOf, isAddedCast, isOpaque, isQuantizeNode, originsInName, stableName } from './layer-name.ts';

/** Purpose of a layer. Format copies, Q/DQ nodes and casts are overhead, not work of the network. */
const LAYER_KINDS = ['compute', 'reformat', 'quantize', 'cast', 'shape'] as const;

export type LayerKind = (typeof LAYER_KINDS)[number];

export const layerFactsSchema = z.strictObject({
  index: count,
  name: z.string(),
  stableName: z.string().describe('A name that is the same in every build'),
  kind: z.enum(LAYER_KINDS),
  type: textOrNull,
  tactic: textOrNull,
  precisionIn: textOrNull,
  precisionOut: textOrNull,
  channels: z.tuple([z.number(), z.number()]).nullable(),
  inputs: z.array(layerTensorSchema),
  outputs: z.array(layerTensorSchema),
  /** ONNX nodes according to the inspector; without them, those in the name. */
  origins: z.array(z.string()).describe('The ONNX nodes that it came from'),
  nodes: z.array(z.string()).describe('The same without Q/DQ nodes and added casts'),
  block: textOrNull,
  isOpaque: z.boolean(),
  /** Time of one query, with the profiler attached; 0 without a profile. */
  averageMs: z.number(),
});

export type LayerFacts = Immutable<z.infer<typeof layerFactsSchema>>;

export function layerFactsOf(layers: readonly JoinedLayer[]): LayerFacts[] {
  // If the inspector gives origins for any layer, a layer without them has none, and its name is invented.
  const areNamesNodes = layers.every(({ origins }) => origins.length === 0);
  return layers.map((layer) => {
    const { index, name, type, tactic, precisionIn, precisionOut, channels, inputs, outputs, averageMs } = layer;
    const stated = { index, name, type, tactic, precisionIn, precisionOut, channels, inputs, outputs };
    return { ...stated, ...namesOf(layer, areNamesNodes), averageMs: averageMs ?? 0 };
  });
}

function namesOf(layer: JoinedLayer, isNameNode: boolean) {
  const { name } = layer;
  const kind = kindOf(layer);
  const named = isNameNode ? originsInName(name) : [];
  const stated = layer.origins.length > 0 ? layer.origins : named;
  // A copy has the name of the layer that it is made for, but is not that layer.
  const origins = kind === 'reformat' && layer.origins.length === 0 ? [] : stated;
  const nodes = origins.filter((origin) => !isQuantizeNode(origin) && !isAddedCast(origin));
  return {
    stableName: stableName(name),
    kind,
    origins,
    nodes,
    block: mostFrequent(knownNodes({ nodes, origins }).map(blockOf)),
    isOpaque: isOpaque(name),
  };
}

function kindOf({ name, origins, type }: JoinedLayer): LayerKind {
  const lower = type?.toLowerCase() ?? '';
  if (name.startsWith('Reformatting CopyNode')) return 'reformat';
  if (/^(?:de)?quantize/.test(lower) || (origins.length > 0 ? origins : [name]).every(isQuantizeNode)) {
    return 'quantize';
  }
  if (lower === 'reformat') return 'reformat';
  if (lower === 'cast' || name.startsWith('cast_') || /^__myl_Cas(?:_myl|$)/.test(name)) return 'cast';
  if (['shape_call', 'reshape', 'shuffle', 'noop', 'shape', 'signal', 'wait'].includes(lower)) {
    return 'shape';
  }
  return 'compute';
}

/** The first of those that occur most often. */
function mostFrequent(values: readonly string[]): string | null {
  const groups = [...Map.groupBy(values, (value) => value).values()];
  return groups.toSorted((a, b) => b.length - a.length)[0]?.[0] ?? null;
}

/** The nodes that identify a layer: those of the network in every precision, else all origins. */
export function knownNodes({ nodes, origins }: Pick<LayerFacts, 'nodes' | 'origins'>): readonly string[] {
  return nodes.length > 0 ? nodes : origins;
}

/** Nodes with their common scope once: `blocks.3.attn: AV, QK`. */
export function nodesLabel(nodes: readonly string[]): string {
  const byScope = Map.groupBy(nodes, (node) => node.slice(0, node.lastIndexOf('/') + 1));
  return [...byScope]
    .map(([scope, members]) => {
      const names = members.map((node) => node.slice(scope.length));
      if (scope === '') return names.join(', ');
      return names.length === 1 ? `${scope}${names[0]}` : `${scope.slice(0, -1)}: ${names.join(', ')}`;
    })
    .join(' + ');
}

/** Display name: the ONNX nodes, else the name without the parts that differ between builds. */
export function layerLabel(layer: LayerFacts): string {
  const known = knownNodes(layer);
  return known.length > 0 ? nodesLabel(known) : layer.stableName;
}

/** The name that TensorRT invented for a layer (`_gemm_mha_v2`), else the last part of the node. */
export function kernelName(layer: LayerFacts): string {
  const [node] = originsInName(layer.name);
  return node === undefined ? layer.stableName : (node.split('/').at(-1) ?? node);
}
