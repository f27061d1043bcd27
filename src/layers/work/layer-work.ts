import { elementsBytes } from '../../tools/onnx/facts.ts';
import type { OnnxNetwork, OnnxNode, OnnxTensor } from '../../tools/onnx/network.ts';
import type { LayerFacts } from '../layer-facts.ts';
import { elementsOf, type KnownTensors } from './infer-shapes.ts';
import { elementsPicked, nodeWork } from './node-work.ts';

/** What a layer does for one query. Null: not known. */
export interface LayerWork {
  /** Floating-point operations of its matrix products and convolutions; a multiplication with its addition is two. */
  readonly matrixFlops: number | null;
  readonly otherFlops: number | null;
  /** Tensors and weights that it reads and writes, each once, in the types that the engine has them in. */
  readonly bytes: number | null;
}

export const NOT_KNOWN: LayerWork = { matrixFlops: null, otherFlops: null, bytes: null };

/** Work of a network's layers, each the sum of the ONNX nodes that it stems from. In the order of the layers. */
export function layerWork(layers: readonly LayerFacts[], network: OnnxNetwork, known: KnownTensors): LayerWork[] {
  const nodes = new Map(network.nodes.map((node) => [node.name, node]));
  const owners = ownersOf(layers);
  const flow = new Flow(network);
  return layers.map((layer) => {
    if (layer.isOpaque || layer.kind !== 'compute' || layer.nodes.length === 0) return NOT_KNOWN;
    const names = layer.nodes.filter((name) => !network.initializers.has(name) && !isMadeUp(name));
    const own = names.filter((name) => owners.get(name) === layer).flatMap((name) => nodes.get(name) ?? []);
    // Of a node in several kernels none is known to do all of it.
    const shared = names.filter((name) => owners.get(name) === null);
    const isWhole = shared.length === 0 && names.every((name) => nodes.has(name)) && own.length > 0;
    if (!isWhole) {
      const products = shared.flatMap((name) => nodes.get(name) ?? []).filter((node) => hasProduct(node, known));
      const isPartly = own.length > 0 && products.length === 0 && names.every((name) => nodes.has(name));
      return isPartly ? { ...NOT_KNOWN, matrixFlops: sumOf(own, known)?.matrixFlops ?? null } : NOT_KNOWN;
    }
    return { ...(sumOf(own, known) ?? NOT_KNOWN), bytes: flow.bytesOf(own, known, layer) };
  });
}

/** FLOPs of a whole network; null where a node's are not known. */
export function sumOf(nodes: readonly OnnxNode[], known: KnownTensors) {
  let [matrixFlops, otherFlops] = [0, 0];
  for (const node of nodes) {
    const work = nodeWork(node, known);
    if (work === null) return null;
    matrixFlops += work.matrixFlops;
    otherFlops += work.otherFlops;
  }
  return { matrixFlops, otherFlops };
}

function hasProduct(node: OnnxNode, known: KnownTensors): boolean {
  return nodeWork(node, known)?.matrixFlops !== 0;
}

/** Added by TensorRT's parser, for a node that is listed, too. */
function isMadeUp(name: string): boolean {
  return /^(?:ONNXTRT_|\(Unnamed Layer)/.test(name);
}

const PRODUCT = /gemm|conv|correlation|fprop|mha|matrix/i;

/**
 * The layer that does a node: the only one that names it, else the only one of those that is a kernel of matrix products,
 * as kernels before and after name its node, too. Null where neither tells.
 */
function ownersOf(layers: readonly LayerFacts[]): Map<string, LayerFacts | null> {
  const listing = new Map<string, LayerFacts[]>();
  for (const layer of layers) {
    if (layer.kind !== 'compute') continue;
    for (const name of new Set(layer.nodes)) {
      const others = listing.get(name);
      if (others === undefined) listing.set(name, [layer]);
      else others.push(layer);
    }
  }
  return new Map(
    [...listing].map(([name, all]) => {
      const products = all.length === 1 ? all : all.filter(isProduct);
      return [name, products.length === 1 ? (products[0] ?? null) : null];
    }),
  );
}

function isProduct({ stableName, tactic, type }: LayerFacts): boolean {
  return type === 'fusion' || [type, tactic, stableName].some((text) => text !== null && PRODUCT.test(text));
}

/** They change how a tensor is seen, or its type: an engine has no tensor of its own for what they put out. */
const VIEWS = /^(?:Cast|Dropout|Flatten|Identity|Reshape|Squeeze|Unsqueeze)$|(?:Q|Deq)uantizeLinear$/;

/** Which tensors go in and out of a set of nodes, seen through casts, reshapes and Q/DQ. */
class Flow {
  private readonly network: OnnxNetwork;
  private readonly sources = new Map<string, string>();
  private readonly users = new Map<string, Set<OnnxNode>>();
  private readonly results: ReadonlySet<string>;

  constructor(network: OnnxNetwork) {
    this.network = network;
    for (const node of network.nodes) {
      const [input = '', output = ''] = [node.inputs[0], node.outputs[0]];
      if (VIEWS.test(node.opType)) {
        this.sources.set(output, this.sourceOf(input));
        continue;
      }
      for (const name of node.inputs) {
        const source = this.sourceOf(name);
        const users = this.users.get(source) ?? new Set();
        this.users.set(source, users.add(node));
      }
    }
    this.results = new Set([...network.outputs].map((name) => this.sourceOf(name)));
  }

  private sourceOf(name: string): string {
    return this.sources.get(name) ?? name;
  }

  bytesOf(nodes: readonly OnnxNode[], known: KnownTensors, layer: LayerFacts): number | null {
    const working = nodes.filter(({ opType }) => !VIEWS.test(opType));
    if (working.length === 0) return null;
    const own = new Set(working);
    const made = new Set(working.flatMap(({ outputs }) => outputs));
    const read = new Map<string, number | null>();
    for (const node of working) {
      node.inputs.forEach((name, place) => {
        const source = this.sourceOf(name);
        if (name === '' || made.has(source)) return;
        const tensor = known.get(source);
        const picked = place === 0 ? elementsPicked(node, known) : null;
        const elements = tensor === undefined ? null : (picked ?? elementsOf(tensor.shape));
        const isWeight = this.network.initializers.has(source);
        const bytes =
          tensor === undefined || elements === null ? null : sizeIn(tensor, elements, layer.precisionIn, isWeight);
        const before = read.get(source);
        read.set(source, before === undefined || bytes === null ? bytes : Math.max(before ?? 0, bytes));
      });
    }
    const written = [...made].flatMap((name) => {
      const users = [...(this.users.get(name) ?? [])];
      if (!this.results.has(name) && users.every((user) => own.has(user))) return [];
      const tensor = known.get(name);
      return [tensor === undefined ? null : sizeIn(tensor, elementsOf(tensor.shape), layer.precisionOut, false)];
    });
    let total = 0;
    for (const bytes of [...read.values(), ...written]) {
      if (bytes === null) return null;
      total += bytes;
    }
    return total;
  }
}

const FLOATING = /^b?float/;
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
 * Bytes of a tensor in an engine: floating-point ones in the type that the layer has; weights in the smaller one of that
 * and their own, as quantized ones are kept small.
 */
function sizeIn(
  { elementType }: OnnxTensor,
  elements: number,
  precision: string | null,
  isWeight: boolean,
): number | null {
  const stated = elementsBytes(elementType, elements);
  const type = ENGINE_TYPES[precision ?? ''];
  if (!FLOATING.test(elementType) || type === undefined) return stated;
  const there = elementsBytes(type, elements);
  return isWeight && stated !== null && there !== null ? Math.min(stated, there) : there;
}
