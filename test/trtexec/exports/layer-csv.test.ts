import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { parseLayerCsv } from '../../../src/trtexec/exports/layer-csv.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';

// Made by hand: no export of a designer was at hand.
const TABLE = `Layer Name,Type,Input Dims,Output Dims,Precision,Time (us),Time %,Region
"conv1, relu",Convolution,1x3x224x224,1x64x112x112,FP16,250,50,0
pool,Pooling,1x64x112x112,1x64x56x56,FP32,250,50,0
`;

test('columns are known by the words of their header; others are ignored', () => {
  const { layerInfo, profile } = parseLayerCsv(TABLE);
  expect(profile?.layers.map(({ name, averageMs, percentage }) => [name, averageMs, percentage])).toEqual([
    ['conv1, relu', 0.25, 50],
    ['pool', 0.25, 50],
  ]);
  const inputs = [{ dimensions: [1, 3, 224, 224], type: 'fp16' }];
  const outputs = [{ dimensions: [1, 64, 112, 112] }];
  expect(layerInfo?.[0]).toMatchObject({ type: 'Convolution', inputs, outputs });
});

test('a unit may stand in the fields; without one the table is refused', () => {
  const table = (field: string) => `name;type;time\na;conv;${field}\n`;
  expect(parseLayerCsv(table('1.5 ms')).profile?.layers[0]?.averageMs).toBe(1.5);
  expect(() => parseLayerCsv(table('1.5'))).toThrow('its times have no unit: write it in the header, as "time (ms)"');
  expect(() => parseLayerCsv(table('- ms'))).toThrow('line 2: time: "- ms" is not a time');
  expect(() => parseLayerCsv(table('1,5 ms'))).toThrow('not CSV');
});

test('bench layers reads it', async () => {
  const path = join(temporaryFolder(), 'network.csv');
  writeFileSync(path, TABLE);
  const { stdout } = await bench(['layers', path, '--json']);
  expect(JSON.parse(stdout).layers).toMatchObject([
    { name: 'conv1, relu', averageMs: 0.25, type: 'Convolution', precisionIn: 'fp16' },
    { name: 'pool', averageMs: 0.25 },
  ]);
});
