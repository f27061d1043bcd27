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
  const known = new Set(groups.flatMap(({ base: a, head: b }) => [...a, ...b]));
  const rest = (layers: readonly LayerFacts[]): LayerFacts[] => layers.filter((layer) => !known.has(layer));
  return [...groups, ...matchByPlace(rest(base), rest(head), groups, base, head)];
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
  return links
    .groups()
    .map((members) => ({
      base: members.filter((layer) => isBase.has(layer)).toSorted(byIndex),
      head: members.filter((layer) => !isBase.has(layer)).toSorted(byIndex),
    }));
}

/** Extracts pairs of clearly equal layers; the others were fused differently. */
function splitGroup(group: LayerMatch): LayerMatch[] {
  if (group.base.length <= 1 && group.head.length <= 1) return [group];
  const keys: readonly ((layer: LayerFacts) => string)[] = [
    (layer) => `${layer.stableName}\0${nodesKey(layer)}`,
    (layer) => `${layer.kind}\0${nodesKey(layer)}`,
  ];
  const pairs: LayerMatch[] = [];
  let rest = group;
  for (const key of keys) {
    const found = pairUp(rest.base, rest.head, key);
    pairs.push(...found.pairs);
    rest = found.rest;
  }
  if (rest.base.length + rest.head.length === 0) return pairs;
  // Layers of only one side next to such pairs were split off or fused in, which is one change rather than two.
  return isOneSided(rest) ? [group] : [...pairs, rest];
}

function isOneSided({ base, head }: LayerMatch): boolean {
  return (base.length === 0 || head.length === 0) && [...base, ...head].some(({ kind }) => kind === 'compute');
}

function nodesKey(layer: LayerFacts): string {
  return knownNodes(layer).toSorted().join('\0');
}

/** Matches layers without an origin: same name before the same neighbor, then anywhere, in the order of the engine. */
function matchByPlace(
  base: readonly LayerFacts[],
  head: readonly LayerFacts[],
  groups: readonly LayerMatch[],
  allBase: readonly LayerFacts[],
  allHead: readonly LayerFacts[],
): LayerMatch[] {
  const places = new Map<LayerFacts, number>();
  groups.forEach((group, place) => {
    for (const layer of [...group.base, ...group.head]) places.set(layer, place);
  });
  const nextBase = nextPlaces(allBase, places);
  const nextHead = nextPlaces(allHead, places);
  const next = (layer: LayerFacts): number => nextBase.get(layer) ?? nextHead.get(layer) ?? -1;
  const near = pairUp(base, head, (layer) => `${layer.stableName}\0${next(layer)}`);
  const far = pairUp(near.rest.base, near.rest.head, ({ stableName }) => stableName);
  const casts = pairUp(far.rest.base.filter(isCast), far.rest.head.filter(isCast), (layer) => `${next(layer)}`);
  const paired = new Set(casts.pairs.flatMap((pair) => [...pair.base, ...pair.head]));
  const alone = (layers: readonly LayerFacts[]): LayerFacts[] => layers.filter((layer) => !paired.has(layer));
  return [
    ...near.pairs,
    ...far.pairs,
    ...casts.pairs,
    ...alone(far.rest.base).map((layer) => ({ base: [layer], head: [] })),
    ...alone(far.rest.head).map((layer) => ({ base: [], head: [layer] })),
  ];
}

/** The name of a cast is that of an added node or empty, so the layer after it identifies it. */
function isCast({ kind, origins }: LayerFacts): boolean {
  return kind === 'cast' || (origins.length > 0 && origins.every(isAddedCast));
}

/** For each layer, the group of the next layer that has one, starting with the layer itself; -1 at the end. */
function nextPlaces(layers: readonly LayerFacts[], places: ReadonlyMap<LayerFacts, number>): Map<LayerFacts, number> {
  const next = new Map<LayerFacts, number>();
  let place = -1;
  for (const layer of layers.toReversed()) {
    place = places.get(layer) ?? place;
    next.set(layer, place);
  }
  return next;
}

function pairUp(
  base: readonly LayerFacts[],
  head: readonly LayerFacts[],
  key: (layer: LayerFacts) => string,
): { pairs: LayerMatch[]; rest: LayerMatch } {
  const waiting = Map.groupBy(head, key);
  const taken = new Set<LayerFacts>();
  const pairs = base.flatMap((layer) => {
    const other = waiting.get(key(layer))?.shift();
    if (other === undefined) return [];
    taken.add(layer).add(other);
    return [{ base: [layer], head: [other] }];
  });
  const left = (layers: readonly LayerFacts[]): LayerFacts[] => layers.filter((layer) => !taken.has(layer));
  return { pairs, rest: { base: left(base), head: left(head) } };
}

function byIndex(a: LayerFacts, b: LayerFacts): number {
  return a.index - b.index;
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
  const helpers = new Map<LayerFacts, LayerFacts>();
  for (const layer of layers) {
    if (owners.has(layer)) continue;
    const [first] = knownNodes(layer);
    const owner = first === undefined ? undefined : byNode.get(first);
    if (owner !== undefined) helpers.set(layer, owner);
  }
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
