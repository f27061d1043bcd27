import * as z from 'zod';

import { elementsBytes, elementTypeName } from '../../tools/onnx/facts.ts';
import type { LayerFacts } from '../layer-facts.ts';

const name = z.string();
const names = z.array(name);

/** The work of a network for given input shapes, as `python/measure_work.py` prints it. */
export const networkWorkSchema = z.object({
  weights: names,
  /** Tensors behind the outputs of the network. Casts, reshapes and Q/DQ are skipped, as for the inputs of nodes. */
  outputs: names,
  nodes: z.array(
    z.object({
      name,
      operator: name,
      /** FLOP of matrix products and convolutions; a multiplication with its addition counts as two. Null: unknown. */
      flops: z.number().nullable(),
      /** Skips casts, reshapes and Q/DQ, for which an engine has no tensors. */
      inputs: names,
      outputs: names,
      /** Number of elements read from its first input; null for all. */
      picked: z.number().nullable(),
    }),
  ),
  /** Number in `TensorProto.DataType`, and number of elements; absent if unknown. */
  tensors: z.record(name, z.tuple([z.number(), z.number()])),
});

export type NetworkWork = z.infer<typeof networkWorkSchema>;
type Node = NetworkWork['nodes'][number];

/** The work of a layer for one query. Null: unknown. */
export type LayerWork = ReturnType<ReturnType<typeof layerWork>>;

const NOT_KNOWN = { flops: null, bytes: null };

/**
 * The work of a layer: the sum over the ONNX nodes from which it was made. `bytes` are those of the tensors and weights
 * that it reads and writes, each once, in their types in the engine.
 */
export function layerWork(layers: readonly LayerFacts[], network: NetworkWork) {
  const nodes = new Map(network.nodes.map((node) => [node.name, node]));
  const flow = flowOf(network);
  const owners = ownersOf(layers);
  return (layer: LayerFacts) => {
    if (layer.isOpaque || layer.kind !== 'compute' || layer.nodes.length === 0) return NOT_KNOWN;
    const listed = layer.nodes.filter((node) => !flow.weights.has(node) && !isMadeUp(node));
    const own = listed.filter((node) => owners.get(node) === layer).flatMap((node) => nodes.get(node) ?? []);
    // If several kernels name a node, none of them is known to do all of it.
    const shared = listed.filter((node) => owners.get(node) === null).flatMap((node) => nodes.get(node) ?? []);
    if (own.length === 0 || !listed.every((node) => nodes.has(node)) || shared.some(({ flops }) => flops !== 0)) {
      return NOT_KNOWN;
    }
    return { flops: flopsOf(own), bytes: shared.length > 0 ? null : bytesOf(own, layer, flow) };
  };
}

/** Who reads a tensor, which tensors are weights, and their sizes. */
function flowOf({ nodes, outputs, tensors, weights }: NetworkWork) {
  const uses = nodes.flatMap((node) => node.inputs.map((input) => ({ input, node })));
  return { outputs, tensors, weights: new Set(weights), users: Map.groupBy(uses, ({ input }) => input) };
}

/** Null if the FLOP of a node are unknown. */
export function flopsOf(nodes: readonly Node[]): number | null {
  return nodes.reduce<number | null>((sum, { flops }) => (sum === null || flops === null ? null : sum + flops), 0);
}

/** Whether TensorRT's parser added a node for another one that is listed. */
function isMadeUp(node: string): boolean {
  return /^(?:ONNXTRT_|\(Unnamed Layer)/.test(node);
}

const PRODUCT = /gemm|conv|correlation|fprop|mha|matrix/i;

/**
 * The layer that computes a node: the only one that names it, else the only kernel of matrix products among them,
 * because neighboring kernels also name the node. Null if neither exists.
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

/** Null if one of its tensors is unknown. */
function bytesOf(own: readonly Node[], layer: LayerFacts, flow: ReturnType<typeof flowOf>): number | null {
  const { outputs, tensors, users, weights } = flow;
  const { precisionIn, precisionOut } = layer;
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
 * Bytes of a tensor in an engine; NaN if unknown. Floating-point tensors have the type of the layer. Weights have the
 * smaller of that type and their own, because quantized weights stay small.
 */
function sizeIn(dataType = 0, elements: number, precision: string | null, isWeight: boolean): number {
  const elementType = elementTypeName(dataType);
  const stated = elementsBytes(elementType, elements) ?? Number.NaN;
  const type = ENGINE_TYPES[precision ?? ''];
  if (!/^b?float/.test(elementType) || type === undefined) return stated;
  const there = elementsBytes(type, elements) ?? Number.NaN;
  return isWeight ? Math.min(stated, there) : there;
}
