import { expect, test } from 'vitest';

import { choiceCell } from '../support/deployments.ts';
import { recordedLayers } from '../support/recorded-layers.ts';
import { precisionShare, realPrecision } from '../../src/layers/real-precision.ts';

const rounded = (shares: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(shares).map(([type, share]) => [type, Number(share.toFixed(2))]));

test.each([
  ['vit_small.fp8.b8', { fp8: 0.72, fp16: 0.28 }, { fp8: 0.61, fp16: 0.39 }],
  ['vit_small.fp16.b8', { fp16: 1 }, { fp16: 1 }],
  ['resnet_small.fp8.b8', { fp8: 0.71, fp16: 0.29 }, { fp8: 0.65, fp16: 0.35 }],
  ['resnet_small.int8.b8', { int8: 0.94, fp16: 0.06 }, { int8: 0.91, fp16: 0.09 }],
])('%s computes in %j of the time, in %j of the layers', (name, time, layers) => {
  const { timeShares, layerShares } = realPrecision(recordedLayers(`nights/1-profile/${name}`));
  expect([rounded(timeShares), rounded(layerShares)]).toEqual([time, layers]);
});

const real = { timeShares: { fp8: 0.3, fp16: 0.7 }, layerShares: { fp8: 0.6, fp16: 0.4 } };
const untimed = { ...real, timeShares: {} };
const untyped = { timeShares: { unknown: 1 }, layerShares: { unknown: 1 } };

test.each([
  ['less than the least share', 'fp8', real, 0.5, { asked: 'fp8', timeShare: 0.3, layerShare: 0.6, isReal: false }],
  ['that share', 'fp8', real, 0.3, { asked: 'fp8', timeShare: 0.3, layerShare: 0.6, isReal: true }],
  ['the layers count', 'fp8', untimed, 0.5, { asked: 'fp8', timeShare: null, layerShare: 0.6, isReal: true }],
  ['FP32', 'fp32', real, 0.5, null],
  ['an engine without types', 'fp8', untyped, 0.5, null],
  ['no engine', 'fp8', null, 0.5, null],
] as const)('the share of a precision: %s', (_, precision, found, least, share) => {
  expect(precisionShare(choiceCell(precision, 8), found, least)).toEqual(share);
});
