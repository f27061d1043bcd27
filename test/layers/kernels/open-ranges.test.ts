import { expect, test } from 'vitest';

import { chainOf, rangesAround } from '../../../src/layers/kernels/attribute-kernels.ts';

const range = (name: string, startNs: number, endNs: number, thread = 'a') => ({ name, startNs, endNs, thread });

test('the innermost range of the same thread, and those around it that are still open', () => {
  // The second one is of another domain: it need not nest.
  const ranges = [range('outer', 0, 10), range('other domain', 5, 20), range('elsewhere', 0, 99, 'b')];
  const events = [3, 7, 10, 15, 21].map((startNs) => ({ startNs, thread: 'a' }));
  const around = rangesAround(ranges, events);
  const names = events.map((event) => [...chainOf(around.get(event) ?? null, event.startNs)].map(({ name }) => name));
  expect(names).toEqual([['outer'], ['other domain', 'outer'], ['other domain', 'outer'], ['other domain'], []]);
});

test('ranges and events may come in any order', () => {
  const ranges = [range('inner', 2, 4), range('outer', 0, 10)];
  const events = [
    { startNs: 9, thread: 'a' },
    { startNs: 3, thread: 'a' },
  ];
  const around = rangesAround(ranges, events);
  expect(events.map((event) => around.get(event)?.name)).toEqual(['outer', 'inner']);
});
