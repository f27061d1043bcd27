import { expect, test } from 'vitest';

import { precisionShare } from '../../src/layers/real-precision.ts';

const cell = (precision: 'fp8' | 'fp16' | 'fp32') => ({
  model: 'm',
  precision,
  precisionVia: 'onnx' as const,
  shapes: {},
  cudaGraph: true,
  dataTransfers: false,
  streams: 1,
  spinWait: true,
  inputs: { kind: 'random' as const },
  axisFlags: {},
});
const real = { timeShares: { fp8: 0.3, fp16: 0.7 }, layerShares: { fp8: 0.6, fp16: 0.4 } };

test('a cell that spends less than the least share in its precision is not really it', () => {
  const requested = { asked: 'fp8', timeShare: 0.3, layerShare: 0.6 };
  expect(precisionShare(cell('fp8'), real, 0.5)).toEqual({ ...requested, isReal: false });
  expect(precisionShare(cell('fp8'), real, 0.3)).toEqual({ ...requested, isReal: true });
});

test('without a profile the layers count', () => {
  expect(precisionShare(cell('fp8'), { ...real, timeShares: {} }, 0.5)).toEqual({
    asked: 'fp8',
    timeShare: null,
    layerShare: 0.6,
    isReal: true,
  });
});

test('nothing is said of FP32, of an engine without types, of no engine', () => {
  expect(precisionShare(cell('fp32'), real, 0.5)).toBeNull();
  expect(precisionShare(cell('fp8'), { timeShares: { unknown: 1 }, layerShares: { unknown: 1 } }, 0.5)).toBeNull();
  expect(precisionShare(cell('fp8'), null, 0.5)).toBeNull();
});
