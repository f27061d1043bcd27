import { describe, expect, test } from 'vitest';

import { compare } from '../../../benchmarks/detection/compare.ts';
import { packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { ourAlarms } from '../../../benchmarks/detection/ours.ts';
import { scoreHistories } from '../../../benchmarks/detection/score.ts';
import { simulateHistories } from '../../../benchmarks/detection/simulate-histories.ts';

describe('what the detectors must reach', () => {
  test('recorded histories', () => {
    const labelled = packedHistories('labelled');
    expect(scoreHistories(labelled, ourAlarms(labelled)).f1).toBeGreaterThanOrEqual(0.73);
  });
});

describe('simulated sets', () => {
  test('a set that no one has seen scores like the packed one', () => {
    const histories = simulateHistories(8);
    const score = scoreHistories(histories, ourAlarms(histories));
    expect(score.f1).toBeGreaterThan(0.9);
    expect(score.falsePer1000).toBeLessThan(0.6);
  });
});

describe('node benchmarks/detection/compare.ts', () => {
  test('prints a line of figures for each detector', async () => {
    const { text, code } = await compare([]);
    expect(code).toBe(0);
    // At least .93, at most .5 false of 1000; night by night .90, .7, three nights; two commits .95, 3, none of 6.
    expect(text).toMatch(/^bench detect +0\.932 +0\.954 +0\.912 +0\.29 +2\/64 +0\.924 +0\.41 +3 /m);
    expect(text).toMatch(/^bench detect --ab +0\.963 +0\.989 +0\.938 +1\.6 +0\/6 /m);
  });

  test('a seed must be a number', async () => {
    expect(await compare(['--seed', 'x'])).toEqual({ text: '--seed x: must be a whole number\n', code: 2 });
  });
});
