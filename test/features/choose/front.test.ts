import { expect, test } from 'vitest';

import { dominatorsOf } from '../../../src/features/choose/pareto.ts';
import { accuracyOf, choiceCell, deployment } from '../../support/deployments.ts';

const fp16 = deployment(choiceCell('fp16', 8), 1, { engineMib: 10 });

test('a slower FP8 of no smaller size is dominated by FP16, whatever its accuracy', () => {
  const fp8 = deployment(choiceCell('fp8', 8), 2, { engineMib: 10 });
  expect(dominatorsOf([fp16, fp8])).toEqual(new Map([[fp8, fp16]]));
});

test('a smaller engine keeps a slower one on the front', () => {
  const fp8 = deployment(choiceCell('fp8', 8), 2, { engineMib: 5 });
  expect(dominatorsOf([fp16, fp8])).toEqual(new Map());
});

test('a faster FP8 never dominates FP16 while nobody has checked its accuracy', () => {
  const fp8 = deployment(choiceCell('fp8', 8), 0.5, { engineMib: 5 });
  expect(dominatorsOf([fp16, fp8])).toEqual(new Map());
  const exact = { ...fp8, accuracy: accuracyOf(null) };
  const rounded = { ...fp16, accuracy: accuracyOf(60) };
  expect(dominatorsOf([rounded, exact])).toEqual(new Map([[rounded, exact]]));
});

test('INT8 and FP8 are told apart only by measured accuracy', () => {
  const fp8 = deployment(choiceCell('fp8', 8), 2);
  const int8 = deployment(choiceCell('int8', 8), 1);
  expect(dominatorsOf([fp8, int8])).toEqual(new Map());
  const checked = [
    { ...fp8, accuracy: accuracyOf(20) },
    { ...int8, accuracy: accuracyOf(30) },
  ] as const;
  expect(dominatorsOf(checked)).toEqual(new Map([checked]));
});

test('less than 1 % is the scatter of runs and dominates nothing', () => {
  const off = deployment(choiceCell('fp16', 8, { cudaGraph: false }), 1.005, { engineMib: 10 });
  expect(dominatorsOf([fp16, off])).toEqual(new Map());
  const slow = { ...off, latencyMs: 1.02, p99Ms: 1.03 };
  expect(dominatorsOf([fp16, slow])).toEqual(new Map([[slow, fp16]]));
});

test('what only one side knows proves nothing', () => {
  const unknown = deployment(choiceCell('fp16', 8, { cudaGraph: false }), 2);
  expect(dominatorsOf([fp16, unknown])).toEqual(new Map());
});

test('a batch with more throughput and more latency is another choice', () => {
  const large = deployment(choiceCell('fp16', 32), 3, { engineMib: 10 });
  expect(large.itemsPerS).toBeGreaterThan(fp16.itemsPerS ?? Infinity);
  expect(dominatorsOf([fp16, large])).toEqual(new Map());
});
