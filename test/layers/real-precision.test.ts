import { expect, test } from 'vitest';

import { realPrecision } from '../../src/layers/real-precision.ts';
import { recordedLayers } from '../support/recorded-layers.ts';

function rounded(shares: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(shares).map(([type, share]) => [type, Number(share.toFixed(2))]));
}

test.each([
  ['vit_small.fp8.b8', { fp8: 0.72, fp16: 0.28 }, { fp8: 0.61, fp16: 0.39 }],
  ['vit_base.fp8.b8', { fp8: 0.74, fp16: 0.26 }, { fp8: 0.61, fp16: 0.39 }],
  ['vit_small.fp16.b8', { fp16: 1 }, { fp16: 1 }],
  ['resnet_small.fp8.b8', { fp8: 0.7, fp16: 0.3 }, { fp8: 0.63, fp16: 0.38 }],
  ['resnet_small.int8.b8', { int8: 0.94, fp16: 0.06 }, { int8: 0.91, fp16: 0.09 }],
])('%s computes in %j of the time, in %j of the layers', (name, time, layers) => {
  const { timeShares, layerShares } = realPrecision(recordedLayers(`nights/1-profile/${name}`));
  expect([rounded(timeShares), rounded(layerShares)]).toEqual([time, layers]);
});

test('nothing computes in nothing', () => {
  expect(realPrecision([])).toEqual({ timeShares: {}, layerShares: {} });
});
