import { expect, test } from 'vitest';

import { makeLook } from '../../../src/terminal/look.ts';
import { valueMap } from '../../../src/terminal/charts/heat-map.ts';
import { choiceCell } from '../../support/deployments.ts';

const PLAIN = makeLook(80, false);

test('each metric has a map of its own, and a cell without a value is told apart', () => {
  const cells = [
    { cell: choiceCell('fp16', 8), metric: 'gpuComputeMs', value: 1 },
    { cell: choiceCell('fp16', 32), metric: 'gpuComputeMs', value: 4 },
    { cell: choiceCell('fp8', 8), metric: 'gpuComputeMs', value: null },
    { cell: choiceCell('fp8', 8), metric: 'rate:higher:req/s', value: 250 },
  ] as const;
  expect(valueMap(cells, PLAIN)).toEqual([
    'vit …x3x224x224 graph transfers',
    '           b8      b32',
    'fp16  ░ 1.000  █ 4.000',
    'fp8   ✗ –',
    'median GPU compute time, ms: ░ from 1.000 to █ 4.000 ms, in steps of the same',
    'ratio; ✗ without a measured run',
    '',
    'vit …x3x224x224 graph transfers',
    '          b8',
    'fp8  ░ 250.0',
    'median rate, req/s: the same everywhere',
  ]);
});

test('with several streams times overlap, and counts do not; a zero has no ratio', () => {
  const cell = { ...choiceCell('fp16', 8), streams: 2 };
  const [, , times] = valueMap([{ cell, metric: 'latencyMs', value: 2 }], PLAIN);
  expect(times).toContain('░ ~2.000');
  const [, , counted] = valueMap([{ cell, metric: 'throughputQps', value: 2 }], PLAIN);
  expect(counted).toContain('░ 2.000');
  const zero = { cell: choiceCell('fp16', 1), metric: 'outputErrorPercent', value: 0 } as const;
  const most = { cell: choiceCell('fp16', 8), metric: 'outputErrorPercent', value: 2 } as const;
  const [, , row, legend] = valueMap([zero, most], PLAIN);
  expect(row).toContain('█ 2.000');
  expect(legend).not.toContain('ratio');
});
