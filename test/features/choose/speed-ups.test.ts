import { expect, test } from 'vitest';

import { speedUpsOf, tallyPrecisions } from '../../../src/features/choose/pareto.ts';
import { choiceCell, deployment } from '../../support/deployments.ts';

const runs = (qps: number): number[] => [0.998, 1, 1.002, 0.999, 1.001].map((part) => part * qps);
const measured = (precision: 'fp32' | 'fp16' | 'fp8', batch: number, ms: number) =>
  deployment(choiceCell(precision, batch), ms, { runsQps: runs(1000 / ms) });

const pairs = (length: number, fp8Ms: number) =>
  Array.from({ length }, (_, index) => [measured('fp16', index + 1, 1), measured('fp8', index + 1, fp8Ms)]).flat();

test('a slowdown that all pairs share is the answer and not a shift to take off', () => {
  const all = pairs(12, 2);
  const speedUps = speedUpsOf(all);
  expect(speedUps.size).toBe(12);
  for (const { verdict, ratio, interval, latencyRatio } of speedUps.values()) {
    expect([verdict, ratio, latencyRatio]).toEqual(['slower', 0.5, 0.5]);
    expect(interval?.[0]).toBeGreaterThan(0.49);
    expect(interval?.[1]).toBeLessThan(0.51);
  }
  expect(tallyPrecisions(all, speedUps)).toMatchObject([{ precision: 'fp8', pairs: 12, slower: 12, leastRatio: 0.5 }]);
});

test('a pair that is the same is neither faster nor slower, whatever its ratio', () => {
  const all = pairs(4, 0.9999);
  const speedUps = speedUpsOf(all);
  expect([...speedUps.values()].map(({ verdict }) => verdict)).toEqual(Array(4).fill('same'));
  const [tally] = tallyPrecisions(all, speedUps);
  expect([tally?.pairs, tally?.slower, tally?.faster]).toEqual([4, 0, 0]);
});

test('the reference is FP16, without it FP32; cells that differ in more are no pair', () => {
  const fp32 = measured('fp32', 8, 4);
  const fp16 = measured('fp16', 8, 2);
  const fp8 = measured('fp8', 8, 1);
  const other = measured('fp8', 32, 1);
  const withAll = speedUpsOf([fp32, fp16, fp8, other]);
  expect([...withAll].map(([key, { reference, ratio }]) => [key, reference, ratio])).toEqual([
    [fp32.cell.key, fp16, 0.5],
    [fp8.cell.key, fp16, 2],
  ]);
  expect(speedUpsOf([fp32, fp8]).get(fp8.cell.key)?.ratio).toBe(4);
});
