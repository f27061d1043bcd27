import { knownNodes, type LayerFacts } from './layer-facts.ts';
import { isAddedCast } from './layer-name.ts';

/** Layers of two engines that do the same work of the network; either side may be empty. */
export interface LayerMatch {
  readonly base: readonly LayerFacts[];
  readonly head: readonly LayerFacts[];
}

/**
 * Matches layers by ONNX nodes, because each build invents names and fuses differently. Each layer is in exactly one
 * match.
 */
export function matchLayers(base: readonly LayerFacts[], ofHead: readonly LayerFacts[]): LayerMatch[] {
  // Layers are compared by identity, and both sides may contain the same object.
  const head = ofHead.map((layer) => ({ ...layer }));
  const groups = groupByNodes(base, head).flatMap(splitGroup);
  const known = new Set(groups.flatMap((group) => [...group.base, ...group.head]));
  const rest = (layers: readonly LayerFacts[]): LayerFacts[] => layers.filter((layer) => !known.has(layer));
  return [...groups, ...matchByPlace({ base: rest(base), head: rest(head) }, groups, [base, head])];
}

/** Layers of both sides that common nodes link, directly or through others. */
function groupByNodes(base: readonly LayerFacts[], head: readonly LayerFacts[]): LayerMatch[] {
  const links = new Links<LayerFacts>();
  const baseOwners = nodeOwners(base);
  const headOwners = nodeOwners(head);
  for (const [node, owner] of baseOwners.byNode) {
    const other = headOwners.byNode.get(node);
    if (other !== undefined) links.join(owner, other);
  }
  // A layer that owns no node belongs to the owner of its nodes, such as the copy before a product, or half of a norm.
  for (const [helper, owner] of [...baseOwners.helpers, ...headOwners.helpers]) {
    links.join(helper, owner);
  }
  const isBase = new Set(base);
  return links.groups().map((members) => {
    const sorted = members.toSorted((a, b) => a.index - b.index);
    return { base: sorted.filter((layer) => isBase.has(layer)), head: sorted.filter((layer) => !isBase.has(layer)) };
  });
}

/** Extracts pairs of clearly equal layers; the others were fused differently. */
function splitGroup(group: LayerMatch): LayerMatch[] {
  if (group.base.length <= 1 && group.head.length <= 1) return [group];
  const { pairs, rest } = pairUp(group, [
    (layer) => `${layer.stableName}\0${nodesKey(layer)}`,
    (layer) => `${layer.kind}\0${nodesKey(layer)}`,
  ]);
  const others = [...rest.base, ...rest.head];
  if (others.length === 0) return pairs;
  // Layers of only one side next to such pairs were split off or fused in, which is one change rather than two.
  const isOneSided = rest.base.length === 0 || rest.head.length === 0;
  return isOneSided && others.some(({ kind }) => kind === 'compute') ? [group] : [...pairs, rest];
}

function nodesKey(layer: LayerFacts): string {
  return knownNodes(layer).toSorted().join('\0');
}

/**
 * Matches layers without an origin: same name before the same neighbor, then anywhere, then casts before the same
 * neighbor; in the order of the engine.
 */
function matchByPlace(without: LayerMatch, groups: readonly LayerMatch[], engines: readonly (readonly LayerFacts[])[]) {
  const places = new Map(
    groups.flatMap(({ base, head }, place) => [...base, ...head].map((layer) => [layer, place] as const)),
  );
  const next = new Map(engines.flatMap((layers) => nextPlaces(layers, places)));
  const { pairs, rest } = pairUp(without, [
    (layer) => `${layer.stableName}\0${next.get(layer)}`,
    ({ stableName }) => stableName,
    (layer) => (isCast(layer) ? `${next.get(layer)}` : null),
  ]);
  return [
    ...pairs,
    ...rest.base.map((layer) => ({ base: [layer], head: [] })),
    ...rest.head.map((layer) => ({ base: [], head: [layer] })),
  ];
}

/** The name of a cast is that of an added node or empty, so the layer after it identifies it. */
function isCast({ kind, origins }: LayerFacts): boolean {
  return kind === 'cast' || (origins.length > 0 && origins.every(isAddedCast));
}

/** For each layer, the group of the next layer that has one, starting with the layer itself; -1 at the end. */
function nextPlaces(layers: readonly LayerFacts[], places: ReadonlyMap<LayerFacts, number>) {
  let place = -1;
  return layers.toReversed().map((layer) => {
    place = places.get(layer) ?? place;
    return [layer, place] as const;
  });
}

/** Pairs layers of both sides with equal keys, by one key after the other; a layer whose key is null stays. */
function pairUp(group: LayerMatch, keys: readonly ((layer: LayerFacts) => string | null)[]) {
  const pairs: LayerMatch[] = [];
  let { base, head } = group;
  for (const key of keys) {
    const waiting = Map.groupBy(head, key);
    waiting.delete(null);
    const taken = new Set<LayerFacts>();
    for (const layer of base) {
      const other = waiting.get(key(layer))?.shift();
      if (other === undefined) continue;
      taken.add(layer).add(other);
      pairs.push({ base: [layer], head: [other] });
    }
    base = base.filter((layer) => !taken.has(layer));
    head = head.filter((layer) => !taken.has(layer));
  }
  return { pairs, rest: { base, head } };
}

/** Disjoint sets (union-find). */
class Links<Member> {
  private readonly parents = new Map<Member, Member>();

  join(a: Member, b: Member): void {
    this.parents.set(this.root(a), this.root(b));
  }

  groups(): Member[][] {
    return [...Map.groupBy(this.parents.keys(), (member) => this.root(member)).values()];
  }

  private root(member: Member): Member {
    let root = member;
    for (let parent = this.parents.get(root); parent !== undefined && parent !== root;) {
      const next = this.parents.get(parent) ?? parent;
      // Halves the path for the next search.
      this.parents.set(root, next);
      [root, parent] = [next, this.parents.get(next)];
    }
    this.parents.set(member, root);
    return root;
  }
}

/**
 * Assigns each ONNX node to one layer. TensorRT lists a node under every layer with a part of it: half of a norm, a
 * copy of its operand. The owner is the layer named after it, else the one made from the fewest nodes, else the one
 * that takes longest. Layers that own no node are helpers of the owner of their first one.
 */
function nodeOwners(layers: readonly LayerFacts[]) {
  const byNode = new Map<string, LayerFacts>();
  for (const layer of layers) {
    for (const node of knownNodes(layer)) {
      const owner = byNode.get(node);
      if (owner === undefined || ownsRather(layer, owner, node)) byNode.set(node, layer);
    }
  }
  const owners = new Set(byNode.values());
  const helpers = layers.flatMap((layer) => {
    const owner = owners.has(layer) ? undefined : byNode.get(knownNodes(layer)[0] ?? '');
    return owner === undefined ? [] : [[layer, owner] as const];
  });
  return { byNode, helpers };
}

function ownsRather(layer: LayerFacts, owner: LayerFacts, node: string): boolean {
  const [a, b] = [isNamedAfter(layer, node), isNamedAfter(owner, node)];
  if (a !== b) return a;
  const [fewer, more] = [knownNodes(layer).length, knownNodes(owner).length];
  return fewer === more ? layer.averageMs > owner.averageMs : fewer < more;
}

/** `blocks_0_attn_proj/MatMul` is named after `blocks.0.attn.proj/MatMul`. */
function isNamedAfter({ stableName }: LayerFacts, node: string): boolean {
  return plain(stableName).includes(plain(node));
}

function plain(name: string): string {
  return name.replace(/[^a-z0-9]+/gi, '_');
}
