import { expect, test } from 'vitest';

import { makeLook } from '../../../src/terminal/look.ts';
import { renderScatter } from '../../../src/terminal/charts/scatter-chart.ts';
import { textWidth } from '../../../src/terminal/text-width.ts';

const plain = (text: string): string => text;
const chart = (columns: number, points: readonly (readonly [number, number, string])[]): string[] =>
  renderScatter({
    points: points.map(([x, y, mark]) => ({ x, y, mark, style: plain })),
    height: 5,
    xLabel: 'ms',
    format: String,
    look: makeLook(columns, false),
  });

test('points stand at their place on logarithmic scales', () => {
  expect(
    chart(27, [
      [1, 10, 'a'],
      [10, 100, 'b'],
      [100, 1000, 'c'],
    ]),
  ).toEqual([
    '1000 ┤                    c',
    '     ┤',
    '     ┤          b',
    '     ┤',
    '  10 ┤a',
    '     └─────────────────────',
    '      1       ms        100',
  ]);
});

test('never wider than the terminal; values that have no logarithm are left out', () => {
  for (const columns of [40, 60, 110]) {
    for (const line of chart(columns, [
      [0.1, 12.5, 'a'],
      [3000, 8, 'b'],
      [0, 1, 'c'],
    ])) {
      expect(textWidth(line)).toBeLessThanOrEqual(columns);
      expect(line).not.toContain('c');
    }
  }
  expect(chart(60, [[0, 0, 'a']])).toEqual([]);
});
