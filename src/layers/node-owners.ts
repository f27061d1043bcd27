import type { LayerFacts } from './layer-facts.ts';

export interface NodeOwners {
  /** The one layer of an engine that mainly does the work of a node. */
  readonly byNode: ReadonlyMap<string, LayerFacts>;
  /** Layers that own nothing, with the owner of the nodes that they were made from. */
  readonly helpers: ReadonlyMap<LayerFacts, LayerFacts>;
}

/**
 * Names one layer for each ONNX node of an engine. TensorRT lists a node under every layer that has a part of it: half
 * of a norm, a copy of its operand. The owner is the layer that is named after it, else the one made from the fewest
 * nodes, else the one that takes longest.
 */
export function nodeOwners(layers: readonly LayerFacts[]): NodeOwners {
  const byNode = new Map<string, LayerFacts>();
  for (const layer of layers) {
    for (const node of nodesOf(layer)) {
      const owner = byNode.get(node);
      if (owner === undefined || ownsRather(layer, owner, node)) byNode.set(node, layer);
    }
  }
  const owners = new Set(byNode.values());
  const helpers = new Map<LayerFacts, LayerFacts>();
  for (const layer of layers) {
    if (owners.has(layer)) continue;
    const [first] = nodesOf(layer);
    const owner = first === undefined ? undefined : byNode.get(first);
    if (owner !== undefined) helpers.set(layer, owner);
  }
  return { byNode, helpers };
}

function nodesOf({ nodes, origins }: LayerFacts): readonly string[] {
  return nodes.length > 0 ? nodes : origins;
}

function ownsRather(layer: LayerFacts, owner: LayerFacts, node: string): boolean {
  const [a, b] = [isNamedAfter(layer, node), isNamedAfter(owner, node)];
  if (a !== b) return a;
  const [fewer, more] = [nodesOf(layer).length, nodesOf(owner).length];
  return fewer === more ? layer.averageMs > owner.averageMs : fewer < more;
}

/** `blocks_0_attn_proj/MatMul` is named after `blocks.0.attn.proj/MatMul`. */
function isNamedAfter({ stableName }: LayerFacts, node: string): boolean {
  return plain(stableName).includes(plain(node));
}

function plain(name: string): string {
  return name.replace(/[^a-z0-9]+/gi, '_');
}
