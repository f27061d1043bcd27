import { describe, expect, test } from 'vitest';

import {
  type Change,
  type LabelledCell,
  type LabelledHistory,
  packedCells,
  packedHistories,
} from '../../../benchmarks/detection/labelled.ts';
import { type Alarm, firstTellings, scoreHistories, scoreNights } from '../../../benchmarks/detection/score.ts';
import { scoreCells } from '../../../benchmarks/detection/score-cells.ts';
import { prototypeAlarms, prototypeCells, prototypeNightAlarms } from './prototype.ts';

// The scorer of the reference data in Python gives these figures for the same answers.
describe('on the answers of the reference detector', () => {
  const histories = packedHistories('synthetic-dev');

  test('histories', () => {
    expect(scoreHistories(histories, prototypeAlarms('prototype-histories'))).toEqual({
      hit: 145,
      wrong: 7,
      missed: 14,
      precision: 0.954,
      recall: 0.912,
      f1: 0.932,
      falsePer1000: 0.29,
      nullFlagged: [2, 64],
      wrongDirection: 0,
      delayMedian: null,
    });
  });

  test('night by night', () => {
    expect(scoreNights(histories, prototypeNightAlarms())).toEqual({
      hit: 143,
      wrong: 12,
      missed: 16,
      precision: 0.923,
      recall: 0.899,
      f1: 0.911,
      falsePer1000: 0.5,
      nullFlagged: [1, 64],
      wrongDirection: 0,
      delayMedian: 3,
    });
  });

  test('recorded histories', () => {
    const labelled = packedHistories('labelled');
    expect(scoreHistories(labelled, prototypeAlarms('prototype-labelled'))).toMatchObject({
      hit: 18,
      wrong: 12,
      missed: 1,
      precision: 0.6,
      recall: 0.947,
      f1: 0.735,
      falsePer1000: 1.04,
      nullFlagged: [0, 2],
      wrongDirection: 1,
    });
  });

  test('two commits', () => {
    const verdicts = new Map([...prototypeCells()].map(([id, { verdict }]) => [id, verdict]));
    expect(scoreCells(packedCells(), verdicts)).toEqual({
      hit: 90,
      wrong: 0,
      missed: 6,
      precision: 1,
      recall: 0.938,
      f1: 0.968,
      falsePer1000: 0,
      quietAlarmed: [0, 6],
      wrongDirection: 0,
      unclear: 218,
    });
  });
});

function step(index: number, rel = 0.1): Change {
  return { index, end: index, kind: 'step', rel, snr: null };
}

/** 100 nights of which the first was not measured. */
function history(...changes: readonly Change[]): LabelledHistory {
  const values = Array.from({ length: 100 }, (_, night) => (night === 0 ? null : 1));
  return { id: 'h', scenario: '', values, spread: [], count: [], clock: [], changes };
}

function up(...indexes: readonly number[]): Alarm[] {
  return indexes.map((index) => ({ index, sign: 1 }));
}

const whole = (truth: LabelledHistory, alarms: readonly Alarm[]) => scoreHistories([truth], new Map([['h', alarms]]));

describe('matching', () => {
  test('within three nights of a step, not four', () => {
    expect(whole(history(step(50)), up(47))).toMatchObject({ hit: 1, wrong: 0, missed: 0 });
    expect(whole(history(step(50)), up(53))).toMatchObject({ hit: 1, wrong: 0, missed: 0 });
    expect(whole(history(step(50)), up(54))).toMatchObject({ hit: 0, wrong: 1, missed: 1 });
  });

  test('one to one, the nearest first', () => {
    expect(whole(history(step(50)), up(49, 50, 51))).toMatchObject({ hit: 1, wrong: 2 });
    // 52 is nearer to 53 than to 50; 49 is left for 50.
    expect(whole(history(step(50), step(53)), up(49, 52))).toMatchObject({ hit: 2, wrong: 0 });
  });

  test('more hits inside a ramp are neither right nor wrong', () => {
    const ramp: Change = { index: 40, end: 60, kind: 'ramp', rel: 0.1, snr: null };
    expect(whole(history(ramp), up(37, 50, 63))).toMatchObject({ hit: 1, wrong: 0, missed: 0 });
    expect(whole(history(ramp), up(36, 64))).toMatchObject({ hit: 0, wrong: 2, missed: 1 });
  });

  test('a wrong direction is counted apart; of an unknown size, or without a word, none is', () => {
    expect(whole(history(step(50, -0.1)), up(50))).toMatchObject({ hit: 1, wrongDirection: 1 });
    expect(whole(history(step(50, 0)), up(50))).toMatchObject({ hit: 1, wrongDirection: 0 });
    expect(whole(history(step(50, -0.1)), [{ index: 50, sign: 0 }]).wrongDirection).toBe(0);
  });

  test('nothing said of nothing is right; false alarms count against measured nights', () => {
    expect(whole(history(), [])).toMatchObject({ f1: 1, nullFlagged: [0, 1], falsePer1000: 0 });
    expect(whole(history(), up(30, 40))).toMatchObject({ f1: 0, nullFlagged: [1, 1], falsePer1000: 20.2 });
    expect(whole(history(step(50)), [])).toMatchObject({ precision: 1, recall: 0, f1: 0 });
  });
});

describe('night by night', () => {
  const reported = (truth: LabelledHistory, ...nights: readonly (readonly [number, number])[]) =>
    scoreNights([truth], new Map([['h', nights.map(([night, index]) => ({ night, index, sign: 1 as const }))]]));

  test('right only on or after the true night, the earliest telling first', () => {
    expect(reported(history(step(50)), [49, 50])).toMatchObject({ hit: 0, wrong: 1, missed: 1 });
    expect(reported(history(step(50)), [50, 50])).toMatchObject({ hit: 1, delayMedian: 0 });
    expect(reported(history(step(50)), [60, 50], [55, 52])).toMatchObject({ hit: 1, wrong: 1, delayMedian: 5 });
  });

  test('nothing counts before the 20th measured night', () => {
    expect(reported(history(), [19, 15])).toMatchObject({ wrong: 0 });
    expect(reported(history(), [20, 15])).toMatchObject({ wrong: 1 });
  });

  test('answers to prefixes: the first telling of each place', () => {
    const requested = [
      { night: 42, alarms: up(33, 20) },
      { night: 40, alarms: up(30) },
      { night: 19, alarms: up(10) },
      { night: 41, alarms: up(31) },
    ];
    expect(firstTellings(history(), requested)).toEqual([
      { night: 40, index: 30, sign: 1 },
      { night: 42, index: 20, sign: 1 },
    ]);
  });
});

test('two commits: only the right direction is right, and unclear misses', () => {
  const cell = (matrix: string, number: number, rel: number): LabelledCell => {
    return { matrix, cell: `${matrix}${number}`, a: [], b: [], past: null, rel };
  };
  const cells = [
    cell('m', 1, 0.1),
    cell('m', 2, -0.1),
    cell('m', 3, 0.1),
    cell('m', 4, 0),
    cell('q', 1, 0),
    cell('q', 2, 0),
    cell('r', 1, 0),
  ];
  const score = scoreCells(
    cells,
    new Map([
      ['m1', 'larger'],
      ['m2', 'larger'],
      ['m3', 'unclear'],
      ['m4', 'smaller'],
      ['q2', 'larger'],
    ]),
  );
  expect(score).toMatchObject({ hit: 1, wrong: 3, missed: 2, wrongDirection: 1, unclear: 1 });
  expect(score).toMatchObject({ falsePer1000: 500, quietAlarmed: [1, 2] });
});
