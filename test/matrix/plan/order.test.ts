import { expect, test } from 'vitest';

import { inRounds } from '../../../src/matrix/plan/order.ts';

test('repeats are spread round by round, each round in its own order', () => {
  const order = inRounds(['a', 'b', 'c', 'd'], 3, 7);
  expect(order.map(({ repeat }) => repeat)).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  for (const round of [1, 2, 3]) {
    const items = order.filter(({ repeat }) => repeat === round).map(({ item }) => item);
    expect(items.toSorted()).toEqual(['a', 'b', 'c', 'd']);
  }
});

test('the same seed gives the same order, another seed another one', () => {
  const items = Array.from({ length: 20 }, (_, i) => i);
  expect(inRounds(items, 2, 1)).toEqual(inRounds(items, 2, 1));
  expect(inRounds(items, 2, 1)).not.toEqual(inRounds(items, 2, 2));
});

test('pairs stay neighbours in every round, and take turns at coming first', () => {
  const items = ['a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'alone'];
  const pairOf = (item: string): string | null => (item === 'alone' ? null : item.charAt(0));
  const order = inRounds(items, 6, 5, pairOf);
  expect(order).toHaveLength(42);
  for (const pair of ['a', 'b', 'c']) {
    const firsts = Array.from({ length: 6 }, (_, round) => {
      const places = order.flatMap(({ item, repeat }, place) =>
        pairOf(item) === pair && repeat === round + 1 ? [place] : [],
      );
      expect((places[1] ?? 0) - (places[0] ?? 0)).toBe(1);
      return order[places[0] ?? 0]?.item;
    });
    expect(new Set(firsts).size).toBe(2);
    for (const [round, first] of firsts.entries()) {
      expect(first === firsts[0]).toBe(round % 2 === 0);
    }
  }
  expect(order.filter(({ item }) => item === 'alone')).toHaveLength(6);
});
