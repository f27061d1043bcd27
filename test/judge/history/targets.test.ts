import { describe, expect, test } from 'vitest';

import { packedCells, packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { ourAlarms, ourNightAlarms, ourVerdicts } from '../../../benchmarks/detection/ours.ts';
import { scoreCells, scoreHistories, scoreNights } from '../../../benchmarks/detection/score.ts';
import { simulateHistories } from '../../../benchmarks/detection/simulate.ts';

/** To be reached: F1 .93 and .5 false of 1000, night by night .9 and .7, of recorded histories .73, of two commits .95 and 3. */
describe('what the detectors reach', () => {
  const histories = packedHistories('synthetic-dev');

  test('histories seen whole', () => {
    const score = scoreHistories(histories, ourAlarms(histories));
    expect(score).toMatchObject({ f1: 0.932, precision: 0.954, recall: 0.912 });
    expect(score).toMatchObject({ falsePer1000: 0.29, nullFlagged: [2, 64], wrongDirection: 0 });
  });

  test('night by night', () => {
    const score = scoreNights(histories, ourNightAlarms(histories));
    expect(score).toMatchObject({ f1: 0.918, falsePer1000: 0.5, delayMedian: 3 });
  });

  test('recorded histories', () => {
    const labelled = packedHistories('labelled');
    expect(scoreHistories(labelled, ourAlarms(labelled)).f1).toBeGreaterThanOrEqual(0.73);
  });

  test('two commits', () => {
    const cells = packedCells();
    const score = scoreCells(cells, ourVerdicts(cells));
    expect(score).toMatchObject({ f1: 0.963, precision: 0.989, recall: 0.938 });
    expect(score).toMatchObject({ falsePer1000: 1.6, quietAlarmed: [0, 6] });
  });
});

test('a set that no one has seen scores like the packed one', () => {
  const histories = simulateHistories(8);
  const score = scoreHistories(histories, ourAlarms(histories));
  expect(score.f1).toBeGreaterThan(0.9);
  expect(score.falsePer1000).toBeLessThan(0.6);
});
