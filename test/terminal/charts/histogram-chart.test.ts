import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { histogramChart, type QueryTimes } from '../../../src/terminal/charts/histogram-chart.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { textWidth } from '../../../src/terminal/text-width.ts';

/** Evenly spaced, of a triangular distribution. */
function triangle(name: string, centre: number, width: number, length = 600): QueryTimes {
  const values = Array.from({ length }, (_, index) => {
    const u = (index + 0.5) / length;
    return centre + width * (u < 0.5 ? Math.sqrt(2 * u) - 1 : 1 - Math.sqrt(2 - 2 * u));
  });
  return { name, runs: 3, values };
}

describe('the queries of one run', () => {
  test('are bars over round numbers, with the median and the 99th percentile marked', () => {
    expect(histogramChart([triangle('run', 0.42, 0.01)], makeLook(60, false))).toMatchInlineSnapshot(`
      [
        "│                    ▅▅▅▅████",
        "│                ▅▅▅▅████████████▁▁▁▁",
        "│            ▅▅▅▅████████████████████▁▁▁▁",
        "│        ▅▅▅▅████████████████████████████▁▁▁▁",
        "│    ▆▆▆▆████████████████████████████████████▂▂▂▂",
        "│▆▆▆▆████████████████████████████████████████████▂▂▂▂",
        "└────────────────────────M──────────────────────P──┬─────",
        "                         0.42                     0.43 ms",
        "M median 0.4200 ms · P p99 0.4286 ms · 600 queries",
      ]
    `);
  });

  test('are drawn in ASCII where the terminal has nothing else', () => {
    const lines = histogramChart([triangle('run', 0.42, 0.01)], makeLook(60, false, true));
    // oxlint-disable-next-line no-control-regex -- all of ASCII
    expect(lines.slice(0, -2).join('')).toMatch(/^[\u0000-\u007f]*$/);
    expect(lines.slice(0, 7)).toMatchInlineSnapshot(`
      [
        "|                    ########",
        "|                ################",
        "|            ########################",
        "|        ################################",
        "|    ########################################",
        "|####################################################",
        "+------------------------M----------------------P--+-----",
      ]
    `);
  });
});

test('no line is too long, and none is empty of what it shows, at any width', () => {
  const times = fc.array(fc.double({ min: 1e-3, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(times, times, fc.integer({ min: 40, max: 220 }), fc.boolean(), (base, head, columns, isAscii) => {
      const look = makeLook(columns, false, isAscii);
      const one = histogramChart([{ name: 'run', runs: 1, values: base }], look);
      const two = histogramChart(
        [
          { name: 'base', runs: 1, values: base },
          { name: 'head', runs: 1, values: head },
        ],
        look,
      );
      for (const line of [...one, ...two]) expect(textWidth(line)).toBeLessThanOrEqual(columns);
      expect(one[6]).toContain('M');
      expect(two[6]).toContain('H');
    }),
    { seed: 8, numRuns: 150 },
  );
});
