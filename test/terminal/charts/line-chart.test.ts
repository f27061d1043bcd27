import { describe, expect, test } from 'vitest';

import { renderLineChart, sparkline } from '../../../src/terminal/charts/line-chart.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { textWidth } from '../../../src/terminal/text-width.ts';

const plain = (text: string): string => text;

function chart(values: readonly (number | null)[], columns = 80, height = 4): string[] {
  return renderLineChart({
    series: [{ values, style: plain }],
    labels: values.map((_, step) => `n${step}`),
    ticks: new Set(),
    signs: new Map(),
    format: (value) => value.toFixed(2),
    height,
    look: makeLook(columns, false),
  });
}

describe('a line over time', () => {
  test('a step', () => {
    expect(chart([1, 1, 2, 2])).toEqual([
      '2.00 ┤                ╭───────────────',
      '1.75 ┤                │',
      '1.50 ┤                │',
      '1.25 ┤                │',
      '1.00 ┤────────────────╯',
      '     └────────────────────────────────',
      '      n0      n1      n2      n3',
    ]);
  });

  test('a missing night is a gap, not a line', () => {
    const [top, , , , bottom] = chart([1, null, 2, null, 1]);
    expect(top).toBe('2.00 ┤                ────────');
    expect(bottom).toBe('1.00 ┤────────                        ────────');
  });

  test('noise is no mountain: the range is never narrower than one percent', () => {
    const rows = chart([1, 1.0001, 0.9999, 1], 80, 4).slice(0, 5);
    expect(rows.filter((row) => /[─╭╮╰╯]/.test(row.slice(6)))).toHaveLength(1);
  });

  test('one value, and none', () => {
    expect(chart([1])).toHaveLength(7);
    expect(chart([null, null])).toEqual(['(nothing was measured)']);
    expect(chart([])).toEqual(['(nothing was measured)']);
  });

  test.each([60, 80, 100, 120, 160, 200])('%i columns hold it, however many nights', (columns) => {
    for (const nights of [1, 2, 7, 30, 90, 365, 4000]) {
      const values = Array.from({ length: nights }, (_, night) => (night % 11 === 5 ? null : 1 + Math.sin(night)));
      for (const line of chart(values, columns)) {
        expect(textWidth(line)).toBeLessThanOrEqual(columns);
      }
    }
  });

  test('several lines are told apart without colour', () => {
    const lines = renderLineChart({
      series: [
        { values: [1, 1], style: plain, mark: 'a' },
        { values: [2, 1], style: plain, mark: 'b' },
        { values: [1, 2], style: plain, mark: 'c' },
      ],
      labels: ['x', 'y'],
      ticks: new Set(),
      signs: new Map(),
      format: String,
      height: 2,
      look: makeLook(60, false),
    });
    expect(lines[0]).toMatch(/ c$/);
    expect(lines[2]).toMatch(/ ab$/);
  });
});

describe('a sparkline', () => {
  test('one eighth a step, a space for a gap', () => {
    expect(sparkline([1, 2, null, 8], 10)).toBe('▁▂ █');
  });

  test('never wider than asked', () => {
    expect(
      sparkline(
        Array.from({ length: 1000 }, (_, i) => i),
        20,
      ),
    ).toBe('▁▂▂▂▃▃▃▄▄▄▅▅▅▆▆▆▇▇▇█');
  });
});
