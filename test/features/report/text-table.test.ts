import { expect, test } from 'vitest';

import { TextTable } from '../../../src/features/report/page/page-data.ts';

test('a text that repeats is kept once', () => {
  const table = new TextTable();
  expect(['a', 'b', 'a', ''].map((text) => table.placeOf(text))).toEqual([0, 1, 0, 2]);
  expect(table.texts).toEqual(['a', 'b', '']);
});
