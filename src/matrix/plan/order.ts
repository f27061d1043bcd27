/** mulberry32 (public domain, Tommy Ettinger): for a seed, the same sequence on every platform. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const copy = [...items];
  for (let last = copy.length - 1; last > 0; last -= 1) {
    const chosen = Math.floor(random() * (last + 1));
    const [a, b] = [copy[last], copy[chosen]];
    if (a !== undefined && b !== undefined) [copy[last], copy[chosen]] = [b, a];
  }
  return copy;
}

/**
 * Spreads repeats over the whole time in shuffled rounds, so that drift widens the noise of every cell instead of
 * shifting some cells. Items of a pair stay adjacent and alternate: A B in one round, B A in the next.
 * @param pairOf returns null for an item without a pair
 */
export function inRounds<Item>(
  items: readonly Item[],
  repeats: number,
  seed: number,
  pairOf: (item: Item) => string | null | undefined = () => null,
): { readonly item: Item; readonly repeat: number }[] {
  const random = seededRandom(seed);
  const turns = seededRandom(seed + 1);
  const pairs = Map.groupBy(items, (item): unknown => pairOf(item) ?? item);
  const groups = [...pairs.values()].map((group) => ({ group, isTurned: turns() < 0.5 }));
  return Array.from({ length: repeats }, (_, round) =>
    shuffled(groups, random).flatMap(({ group, isTurned }) =>
      (isTurned === (round % 2 === 0) ? group.toReversed() : group).map((item) => ({ item, repeat: round + 1 })),
    ),
  ).flat();
}
