import { describe, expect, test } from 'vitest';

import { renderHistoryChart, roundScale } from '../../../src/terminal/charts/history-chart.ts';
import { sparkline } from '../../../src/terminal/charts/sparkline.ts';
import { makeLook, alignPoints, textWidth } from '../../../src/terminal/look.ts';

const plain = (text: string): string => text;

function chart(
  values: readonly (number | null)[],
  { columns = 60, starts = [], most = null }: { columns?: number; starts?: number[]; most?: number | null } = {},
): string[] {
  return renderHistoryChart({
    values,
    levelStarts: starts,
    labels: values.map((_, step) => `n${step}`),
    marks: new Map(starts.map((start) => [start, 'S'])),
    format: (value) => `${value.toFixed(2)} ms`,
    styleOf: () => plain,
    most,
    height: 6,
    look: makeLook(columns, false),
  });
}

describe('a chart of a history', () => {
  const STEP = Array.from({ length: 40 }, (_, step) => (step < 30 ? 1 : 1.1));

  test('the axis of a share ends at the whole', () => {
    const labels = (rows: readonly string[]) => rows.flatMap((row) => /^ *(-?[\d.]+) ┤/u.exec(row)?.[1] ?? []);
    expect(labels(chart([70, 70, 100], { starts: [2] }))).toEqual(['120', '100', '80']);
    expect(labels(chart([70, 70, 100], { starts: [2], most: 100 }))).toEqual(['100', '80']);
  });

  test('two levels: their values at the right, the change on the axis, round labels', () => {
    const rows = chart(STEP, { starts: [30] });
    expect([rows.length, rows.filter((row) => row.endsWith(' 1.10 ms')).length]).toEqual([8, 1]);
    expect(rows.filter((row) => row.endsWith(' 1.00 ms'))).toHaveLength(1);
    expect([rows[6], rows[6]?.split('S')?.length]).toEqual([expect.stringMatching(/^ +└[─┬S]+$/u), 2]);
    expect(rows.slice(0, 6).flatMap((row) => /^ *([\d.]+) ┤/u.exec(row)?.[1] ?? [])).toEqual(['1.10', '1.05', '1.00']);
  });

  test('a strip below has the same axis, all its values and no band', () => {
    const upper = { values: [1, 1, 1, 1, 1.1, 1.1], levelStarts: [4], labels: ['a', '', '', '', '', ''] };
    const rest = { marks: new Map([[4, 'S']]), styleOf: () => plain, most: null, height: 4 };
    const look = makeLook(32, false);
    const strip = { values: [40, 40, null, 60, 80, 80], format: (value: number) => `${value} °C` };
    expect(renderHistoryChart({ ...upper, ...rest, format: String, look }, strip)).toEqual([
      '1.15 ┤',
      '1.10 ┤              ────── 1.1',
      '1.05 ┤',
      '1.00 ┤──────────────       1',
      '     │',
      ' 100 ┤',
      '  80 ┤              ╭───── 80 °C',
      '  60 ┤· · · · · ────╯ · ·',
      '  40 ┤──────',
      '     └┬──────────────S────',
      '      a',
    ]);
  });

  test('a step is a line', () => expect(chart([1, 1.1]).join('')).toMatch(/[╭╮╰╯─]/u));

  test.each([60, 80, 120, 200])('%i columns are filled, and no line is longer, however many sweeps', (columns) => {
    for (const sweeps of [1, 2, 60, 400, 4000]) {
      const values = Array.from({ length: sweeps }, (_, sweep) => (sweep % 11 === 5 ? null : 1 + Math.sin(sweep)));
      const rows = chart(values, { columns });
      for (const row of rows) expect(textWidth(row)).toBeLessThanOrEqual(columns);
      // The axis ends where the values of the levels begin.
      expect([Math.max(...rows.map(textWidth)), rows.join('\n')]).toEqual([columns, expect.not.stringContaining('…')]);
    }
  });
});

test('scales are round: three to five labels of equal precision, in rows that are equally far apart', () => {
  const texts = (low: number, high: number, rows: number) => roundScale(low, high, rows).ticks.map(({ text }) => text);
  expect(texts(0.476, 0.505, 6)).toEqual(['0.48', '0.50', '0.52']);
  expect(texts(0.03, 118, 6)).toEqual(['0', '50', '100']);
  expect(texts(0.03, 118, 9)).toEqual(['0', '50', '100', '150', '200']);
  for (const rows of [4, 5, 6, 8, 12, 20]) {
    for (let size = 1e-6; size < 1e7; size *= 3.7) {
      const { high, low, ticks } = roundScale(size, size * 1.013, rows);
      expect([low <= size * (1 + 1e-9), high >= size * 1.013]).toEqual([true, true]);
      expect(ticks.length).toBeGreaterThanOrEqual(3);
      expect(ticks.length).toBeLessThanOrEqual(5);
      expect(new Set(ticks.map(({ text }) => text)).size).toBe(ticks.length);
      const places = ticks.map(({ value }) => ((value - low) / (high - low)) * (rows - 1));
      for (const place of places) expect(place).toBeCloseTo(Math.round(place), 6);
    }
  }
});

test('rows share a scale: a small noise is flat, what lies beyond is a sign', () => {
  const scale = { level: 1, percent: 7 };
  expect(sparkline([1.002, 0.998, null, 1.04, 1.2, 0.96], 6, scale)).toBe('▄▄ ▆!▂');
  expect([sparkline([1, 1, 2], 2, scale), sparkline([], 5, scale)]).toEqual(['▄!', '']);
});

test('points and units stand one below the other, whatever the digits', () => {
  const expected = ['  0.3583 ms', ' 12.5    ms', '940      ms', '  –        ', '           '];
  expect(alignPoints(['0.3583 ms', '12.5 ms', '940 ms', '–', '']).map((text) => text.padStart(11))).toEqual(expected);
});

test('what is no single number stays as it is', () => {
  expect(alignPoints(['1.5', 'none'])).toEqual(['1.5', 'none']);
  expect(alignPoints(['5+5', '4+4'])).toEqual(['5+5', '4+4']);
  expect(alignPoints(['-1.0 … +2.0 %', '3.0 %'])).toEqual(['-1.0 … +2.0 %', '3.0 %']);
});
