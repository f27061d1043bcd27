import { expect, test } from 'vitest';

import { alignPoints } from '../../../src/terminal/text-width.ts';

test('points and units stand one below the other, whatever the digits', () => {
  const aligned = alignPoints(['0.3583 ms', '12.5 ms', '940 ms', '–', '']);
  expect(aligned.map((text) => text.padStart(11))).toEqual([
    '  0.3583 ms',
    ' 12.5    ms',
    '940      ms',
    '  –        ',
    '           ',
  ]);
});

test('signs and marks of doubt belong to the number', () => {
  expect(alignPoints(['+1.6 %', '-0.68 %', '~2 %'])).toEqual(['+1.6  %', '-0.68 %', '~2    %']);
});

test('what is no single number stays as it is', () => {
  expect(alignPoints(['1.5', 'none'])).toEqual(['1.5', 'none']);
  expect(alignPoints(['5+5', '4+4'])).toEqual(['5+5', '4+4']);
  expect(alignPoints(['-1.0 … +2.0 %', '3.0 %'])).toEqual(['-1.0 … +2.0 %', '3.0 %']);
});
