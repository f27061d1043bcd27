import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import type { KeyedCell } from '../../../src/records/cell.ts';
import { heatMaps, mapAxes, shadeOf, type Tile } from '../../../src/terminal/charts/heat-map.ts';
import { histogramChart, type QueryTimes } from '../../../src/terminal/charts/histogram-chart.ts';
import { makeLook, textWidth } from '../../../src/terminal/look.ts';
import { choiceCell } from '../../support/deployments.ts';
import { valueMap } from '../../../src/features/show/show.ts';

const PLAIN = makeLook(80, false);

function tile(cell: KeyedCell, number: string, sign = '░'): Tile {
  return { cell, sign, number, style: (text) => text };
}

test('a heat map: of any two axes: the others are in the title, and an unknown one names those that there are', () => {
  const cells = [1, 2, 10].map((streams) =>
    choiceCell('fp16', 8, { streams, axisFlags: { 'env.MODE': 'a', '--avgTiming': '4', '--sparsity': 'force' } }),
  );
  const tiles = [...cells, choiceCell('fp16', 8, { axisFlags: {} })].map((cell) => tile(cell, '1'));
  const mapOf = (axes: string): string[] => heatMaps(tiles, PLAIN, mapAxes(axes, tiles, new Map()));
  expect(mapOf('env.MODE,streams')).toEqual([
    'vit fp16 8x3x224x224 graph transfers',
    '            streams 1',
    'env.MODE –        ░ 1',
    '',
    'vit fp16 8x3x224x224 graph transfers sparsity=force --avgTiming=4',
    '            streams 1  streams 2  streams 10',
    'env.MODE a        ░ 1        ░ 1         ░ 1',
  ]);
  expect(mapOf('--avgTiming,sparsity').slice(0, 4)).toEqual([
    'vit fp16 8x3x224x224 graph transfers',
    '               sparsity disable',
    '--avgTiming –               ░ 1',
    '',
  ]);
  const axes = 'model, precision, batch, streams, cudaGraph, dataTransfers, spinWait, sparsity, env.MODE, --avgTiming';
  expect(() => mapOf('speed,batch')).toThrow(`--map speed,batch: no axis speed; there are ${axes}`);
  expect(() => mapOf('batch')).toThrow('name two axes, such as streams,batch');
});

test('a heat map: of dimensions that the matrix names: the batch is one, too, and not the whole shape', () => {
  const cells = [8, 16].flatMap((batch) =>
    [128, 512].map((seq) => choiceCell('fp16', batch, { shapes: { ids: [batch, seq], mask: [batch, 1, seq, seq] } })),
  );
  const tiles = cells.map((cell) => tile(cell, '1'));
  const shapes = { ids: ['batch', 'seq'], mask: ['batch', 1, 'seq', 'seq'] };
  const namedShapes = new Map(cells.map(({ key }) => [key, shapes]));
  const mapOf = (axes: string): string[] => heatMaps(tiles, PLAIN, mapAxes(axes, tiles, namedShapes));
  expect(mapOf('seq,batch')).toEqual([
    'vit fp16 ids:…x… mask:…x1x…x… graph transfers',
    '         batch 8  batch 16',
    'seq 128      ░ 1       ░ 1',
    'seq 512      ░ 1       ░ 1',
  ]);
  expect(mapOf('precision,seq').filter((line) => line.startsWith('vit'))).toEqual([
    'vit ids:8x… mask:8x1x…x… graph transfers',
    'vit ids:16x… mask:16x1x…x… graph transfers',
  ]);
  expect(mapOf('batch,precision')[0]).toBe('vit graph transfers');
});

test('shades go from light to dark in four steps, and stay at their ends', () => {
  expect([-1, 0, 0.24, 0.25, 0.5, 0.75, 1, 9].map(shadeOf).join('')).toBe('░░░▒▓███');
});

test('with several streams times overlap, and counts do not; a zero has no ratio', () => {
  const cell = { ...choiceCell('fp16', 8), streams: 2 };
  const many = { ...cell, streams: 8 };
  const mapped = [cell, many].map((one) => ({ cell: one, metric: 'latencyMs', value: 2 }) as const);
  const times = valueMap(mapped, PLAIN);
  expect(times[2]).toContain('░ ~2.000');
  expect(times.at(-1)).toBe('~ 2 or 8 streams overlap: their times say little, throughput is what counts');
  const [, , counted] = valueMap([{ cell, metric: 'throughputQps', value: 2 }], PLAIN);
  expect(counted).toContain('░ 2.000');
  const zero = { cell: choiceCell('fp16', 1), metric: 'outputErrorPercent', value: 0 } as const;
  const most = { cell: choiceCell('fp16', 8), metric: 'outputErrorPercent', value: 2 } as const;
  const [, , row, legend] = valueMap([zero, most], PLAIN);
  expect(row).toContain('█ 2.000');
  expect(legend).not.toContain('ratio');
});

/** Evenly spaced, of a triangular distribution. */
function triangle(name: string, centre: number, width: number, length = 600): QueryTimes {
  const values = Array.from({ length }, (_, index) => {
    const u = (index + 0.5) / length;
    return centre + width * (u < 0.5 ? Math.sqrt(2 * u) - 1 : 1 - Math.sqrt(2 - 2 * u));
  });
  return { name, runs: 3, values };
}

test('the queries of one run: are bars over round numbers, with the median and the 99th percentile marked', () => {
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

test('no line is too long, and none is empty of what it shows, at any width', () => {
  const times = fc.array(fc.double({ min: 1e-3, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(times, times, fc.integer({ min: 40, max: 220 }), (base, head, columns) => {
      const look = makeLook(columns, false);
      const one = histogramChart([{ name: 'run', runs: 1, values: base }], look);
      const two = histogramChart(
        [
          { name: 'base', runs: 1, values: base },
          { name: 'head', runs: 1, values: head },
        ],
        look,
      );
      for (const line of [...one, ...two]) expect(textWidth(line)).toBeLessThanOrEqual(columns);
      expect([one[6], two[6]]).toEqual([expect.stringContaining('M'), expect.stringContaining('H')]);
    }),
    { seed: 8, numRuns: 150 },
  );
});
