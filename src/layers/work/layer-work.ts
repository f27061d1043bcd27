import * as z from 'zod';

import { elementsBytes, elementTypeName } from '../../tools/onnx/facts.ts';
import type { LayerFacts } from '../layer-facts.ts';

const name = z.string();
const names = z.array(name);

/** What a network does at some shapes of its inputs, as `python/measure_work.py` prints it. */
export const networkWorkSchema = z.object({
  weights: names,
  /** Sources of what the network puts out, seen through casts, reshapes and Q/DQ, as are the inputs of nodes. */
  outputs: names,
  nodes: z.array(
    z.object({
      name,
      operator: name,
      /** Of matrix products and convolutions; a multiplication with its addition is two. Null: not known. */
      flops: z.number().nullable(),
      /** None of casts, reshapes and Q/DQ, which an engine has no tensors for. */
      inputs: names,
      outputs: names,
      /** Elements that it reads of its first input; null for all. */
      picked: z.number().nullable(),
    }),
  ),
  /** Number in `TensorProto.DataType` and elements; absent where they are not known. */
  tensors: z.record(name, z.tuple([z.number(), z.number()])),
});

export type NetworkWork = z.infer<typeof networkWorkSchema>;
type Node = NetworkWork['nodes'][number];

/** What a layer does for one query. Null: not known. */
export interface LayerWork {
  readonly flops: number | null;
  /** Tensors and weights that it reads and writes, each once, in the types that the engine has them in. */
  readonly bytes: number | null;
}

interface Flow {
  readonly users: ReadonlyMap<string, readonly { readonly node: Node }[]>;
  readonly weights: ReadonlySet<string>;
}

const NOT_KNOWN: LayerWork = { flops: null, bytes: null };

/** Work of a network's layers, each the sum of the ONNX nodes that it stems from. */
export function layerWork(layers: readonly LayerFacts[], network: NetworkWork): (layer: LayerFacts) => LayerWork {
  const nodes = new Map(network.nodes.map((node) => [node.name, node]));
  const weights = new Set(network.weights);
  const uses = network.nodes.flatMap((node) => node.inputs.map((input) => ({ input, node })));
  const users = Map.groupBy(uses, ({ input }) => input);
  const owners = ownersOf(layers);
  return (layer) => {
    if (layer.isOpaque || layer.kind !== 'compute' || layer.nodes.length === 0) return NOT_KNOWN;
    const listed = layer.nodes.filter((node) => !weights.has(node) && !isMadeUp(node));
    const own = listed.filter((node) => owners.get(node) === layer).flatMap((node) => nodes.get(node) ?? []);
    // Of a node in several kernels none is known to do all of it.
    const shared = listed.filter((node) => owners.get(node) === null).flatMap((node) => nodes.get(node) ?? []);
    if (own.length === 0 || !listed.every((node) => nodes.has(node)) || shared.some(({ flops }) => flops !== 0)) {
      return NOT_KNOWN;
    }
    const bytes = shared.length > 0 ? null : bytesOf(own, layer, network, { users, weights });
    return { flops: flopsOf(own), bytes };
  };
}

/** Null where those of a node are not known. */
export function flopsOf(nodes: readonly Node[]): number | null {
  return nodes.reduce<number | null>((sum, { flops }) => (sum === null || flops === null ? null : sum + flops), 0);
}

/** Added by TensorRT's parser, for a node that is listed, too. */
function isMadeUp(node: string): boolean {
  return /^(?:ONNXTRT_|\(Unnamed Layer)/.test(node);
}

const PRODUCT = /gemm|conv|correlation|fprop|mha|matrix/i;

/**
 * The layer that does a node: the only one that names it, else the only one of those that is a kernel of matrix products,
 * as kernels before and after name its node, too. Null where neither tells.
 */
function ownersOf(layers: readonly LayerFacts[]): Map<string, LayerFacts | null> {
  const computing = layers.filter(({ kind }) => kind === 'compute');
  const listed = computing.flatMap((layer) => [...new Set(layer.nodes)].map((node) => ({ layer, node })));
  return new Map(
    [...Map.groupBy(listed, ({ node }) => node)].map(([node, all]) => {
      const [owner, ...others] = all.length === 1 ? all : all.filter(({ layer }) => isProduct(layer));
      return [node, owner === undefined || others.length > 0 ? null : owner.layer];
    }),
  );
}

function isProduct({ stableName, tactic, type }: LayerFacts): boolean {
  return type === 'fusion' || [type, tactic, stableName].some((text) => text !== null && PRODUCT.test(text));
}

/** Null where one of its tensors is not known. */
function bytesOf(
  own: readonly Node[],
  { precisionIn, precisionOut }: LayerFacts,
  { outputs, tensors }: NetworkWork,
  { users, weights }: Flow,
): number | null {
  const made = new Set(own.flatMap((node) => node.outputs));
  if (made.size === 0) return null;
  const read = new Map<string, number>();
  for (const { inputs, picked } of own) {
    for (const [place, input] of inputs.entries()) {
      if (made.has(input)) continue;
      const elements = (place === 0 ? picked : null) ?? tensors[input]?.[1] ?? Number.NaN;
      read.set(input, Math.max(read.get(input) ?? 0, elements));
    }
  }
  const isWritten = (tensor: string): boolean =>
    outputs.includes(tensor) || (users.get(tensor) ?? []).some(({ node }) => !own.includes(node));
  const written = [...made].filter(isWritten).map((tensor) => [tensor, tensors[tensor]?.[1] ?? Number.NaN] as const);
  const bytes = [
    ...[...read].map(([tensor, elements]) => sizeIn(tensors[tensor]?.[0], elements, precisionIn, weights.has(tensor))),
    ...written.map(([tensor, elements]) => sizeIn(tensors[tensor]?.[0], elements, precisionOut, false)),
  ].reduce((sum, size) => sum + size, 0);
  return Number.isNaN(bytes) ? null : bytes;
}

const ENGINE_TYPES: Readonly<Record<string, string>> = {
  fp32: 'float32',
  fp16: 'float16',
  bf16: 'bfloat16',
  fp8: 'float8',
  fp4: 'float4',
  int8: 'int8',
  int4: 'int4',
};

/**
 * Bytes of a tensor in an engine, NaN where they are not known: floating-point ones in the type that the layer has; weights
 * in the smaller one of that and their own, as quantized ones are kept small.
 */
function sizeIn(dataType = 0, elements: number, precision: string | null, isWeight: boolean): number {
  const elementType = elementTypeName(dataType);
  const stated = elementsBytes(elementType, elements) ?? Number.NaN;
  const type = ENGINE_TYPES[precision ?? ''];
  if (!/^b?float/.test(elementType) || type === undefined) return stated;
  const there = elementsBytes(type, elements) ?? Number.NaN;
  return isWeight ? Math.min(stated, there) : there;
}
