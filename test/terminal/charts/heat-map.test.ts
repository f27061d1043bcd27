import { describe, expect, test } from 'vitest';

import type { Cell } from '../../../src/records/cell.ts';
import { heatMaps, mapAxes, shadeOf, type Tile } from '../../../src/terminal/charts/heat-map.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { textWidth } from '../../../src/terminal/text-width.ts';
import { choiceCell } from '../../support/deployments.ts';

const PLAIN = makeLook(80, false);

function tile(cell: Cell, number: string, sign = '░'): Tile {
  return { cell, sign, number, style: (text) => text };
}

describe('a heat map', () => {
  test('precisions go down in their order, batches across by size, and a hole stays a hole', () => {
    const tiles = [
      tile(choiceCell('fp8', 32), '2.161', '█'),
      tile(choiceCell('fp16', 8), '0.4171'),
      tile(choiceCell('fp16', 32), '0.8325', '▒'),
      tile(choiceCell('fp16', 128), '10.5', '█'),
    ];
    expect(heatMaps(tiles, PLAIN)).toEqual([
      'vit …x3x224x224 graph transfers',
      '            b8       b32    b128',
      'fp16  ░ 0.4171  ▒ 0.8325  █ 10.5',
      'fp8             █ 2.161',
    ]);
  });

  test('of any two axes: the others are in the title, and an unknown one names those that there are', () => {
    const cells = [1, 2, 10].map((streams) => choiceCell('fp16', 8, { streams, axisFlags: { 'env.MODE': 'a' } }));
    const other = choiceCell('fp16', 8, { axisFlags: {} });
    const tiles = [...cells, other].map((cell) => tile(cell, '1'));
    expect(heatMaps(tiles, PLAIN, mapAxes('env.MODE,streams', tiles))).toEqual([
      'vit fp16 8x3x224x224 graph transfers',
      '            streams 1  streams 2  streams 10',
      'env.MODE –        ░ 1',
      'env.MODE a        ░ 1        ░ 1         ░ 1',
    ]);
    const axes = 'model, precision, batch, streams, cudaGraph, dataTransfers, spinWait, env.MODE';
    expect(() => mapAxes('speed,batch', tiles)).toThrow(`--map speed,batch: no axis speed; there are ${axes}`);
    expect(() => mapAxes('batch', tiles)).toThrow('takes two axes, as streams,batch');
  });

  test('batches that do not fit beside each other follow below, none is lost', () => {
    const batches = [1, 2, 4, 8, 16, 32, 64, 128];
    const tiles = batches.map((batch) => tile(choiceCell('fp16', batch), `${batch}.125`));
    const lines = heatMaps(tiles, makeLook(40, false));
    expect(lines.filter((line) => textWidth(line) > 40)).toEqual([]);
    for (const batch of batches) {
      expect(lines.filter((line) => line.includes(`░ ${batch}.125`))).toHaveLength(1);
    }
  });

  test('names from outside lose what steers a terminal', () => {
    const lines = heatMaps([tile(choiceCell('fp16', 8, { model: 'v\u001b[2Jit' }), '1')], PLAIN);
    expect(lines.join('\n')).not.toContain('\u001b');
  });
});

test('shades go from light to dark in four steps, and stay at their ends', () => {
  expect([-1, 0, 0.24, 0.25, 0.5, 0.75, 1, 9].map(shadeOf).join('')).toBe('░░░▒▓███');
});
