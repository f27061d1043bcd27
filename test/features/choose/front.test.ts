import { expect, test } from 'vitest';

import { dominatorsOf } from '../../../src/features/choose/pareto.ts';
import { accuracyOf, choiceCell, deployment } from '../../support/deployments.ts';

const fp16 = deployment(choiceCell('fp16', 8), 1, { engineMib: 10 });
const fp8 = (latencyMs: number, engineMib: number | null = null) =>
  deployment(choiceCell('fp8', 8), latencyMs, { engineMib });
const int8 = deployment(choiceCell('int8', 8), 1);
const launched = (latencyMs: number, engineMib: number | null) =>
  deployment(choiceCell('fp16', 8, { cudaGraph: false }), latencyMs, { engineMib });
const checked = <One extends object>(one: One, sqnrDb: number | null) => ({ ...one, accuracy: accuracyOf(sqnrDb) });

test('a slower FP8 of no smaller size is dominated by FP16, whatever its accuracy', () => {
  const slower = fp8(2, 10);
  expect(dominatorsOf([fp16, slower])).toEqual(new Map([[slower, fp16]]));
});

test.each([
  ['a smaller engine keeps a slower one on the front', fp16, fp8(2, 5)],
  ['a faster FP8 never dominates FP16 while nobody has checked its accuracy', fp16, fp8(0.5, 5)],
  ['INT8 and FP8 are told apart only by measured accuracy', fp8(2), int8],
  ['less than 1 % is the scatter of runs', fp16, launched(1.005, 10)],
  ['what only one side knows proves nothing', fp16, launched(2, null)],
  [
    'more throughput and more latency is another choice',
    fp16,
    deployment(choiceCell('fp16', 32), 3, { engineMib: 10 }),
  ],
])('%s', (_, one, other) => {
  expect(dominatorsOf([one, other])).toEqual(new Map());
});

test.each([
  ['an exact FP8 beats a rounded FP16', checked(fp16, 60), checked(fp8(0.5, 5), null)],
  ['INT8 that was measured to be better', checked(fp8(2), 20), checked(int8, 30)],
  ['latencies more than 1 % apart', { ...launched(1.005, 10), latencyMs: 1.02, p99Ms: 1.03 }, fp16],
])('%s', (_, worse, better) => {
  expect(dominatorsOf([worse, better])).toEqual(new Map([[worse, better]]));
});
