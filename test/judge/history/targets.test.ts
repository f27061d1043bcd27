import { describe, expect, test } from 'vitest';

import { compare } from '../../../benchmarks/detection/compare.ts';
import { packedCells, packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { ourAlarms, ourNightAlarms, ourVerdicts } from '../../../benchmarks/detection/ours.ts';
import { scoreHistories, scoreNights } from '../../../benchmarks/detection/score.ts';
import { scoreCells } from '../../../benchmarks/detection/score-cells.ts';
import { simulateHistories } from '../../../benchmarks/detection/simulate-histories.ts';

describe('what the detectors must reach', () => {
  const histories = packedHistories('synthetic-dev');

  test('histories seen whole', () => {
    const score = scoreHistories(histories, ourAlarms(histories));
    expect(score.f1).toBeGreaterThanOrEqual(0.93);
    expect(score.falsePer1000).toBeLessThanOrEqual(0.5);
    expect(score.wrongDirection).toBe(0);
  });

  test('night by night', () => {
    const score = scoreNights(histories, ourNightAlarms(histories));
    expect(score.f1).toBeGreaterThanOrEqual(0.9);
    expect(score.falsePer1000).toBeLessThanOrEqual(0.7);
    expect(score.delayMedian).toBeLessThanOrEqual(3);
  });

  test('recorded histories', () => {
    const labelled = packedHistories('labelled');
    expect(scoreHistories(labelled, ourAlarms(labelled)).f1).toBeGreaterThanOrEqual(0.73);
  });

  test('two commits', () => {
    const cells = packedCells();
    const score = scoreCells(cells, ourVerdicts(cells));
    expect(score.f1).toBeGreaterThanOrEqual(0.95);
    expect(score.falsePer1000).toBeLessThanOrEqual(3);
    expect(score.quietAlarmed).toEqual([0, 6]);
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
    expect(text).toMatch(/^bench detect +0\.932 +0\.954 +0\.912 +0\.29 +2\/64 +0\.924 +0\.41 +3 /m);
    expect(text).toMatch(/^bench detect --ab +0\.963 +0\.989 +0\.938 +1\.6 +0\/6 /m);
  });

  test('a seed must be a number', async () => {
    expect(await compare(['--seed', 'x'])).toEqual({ text: '--seed x: must be a whole number\n', code: 2 });
  });
});
