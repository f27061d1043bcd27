import { describe, expect, test } from 'vitest';

import {
  type Change,
  type LabelledHistory,
  packedCells,
  packedHistories,
} from '../../../benchmarks/detection/labelled.ts';
import { type Alarm, scoreCells, scoreHistories, scoreNights } from '../../../benchmarks/detection/score.ts';
import { prototypeAlarms, prototypeCells, prototypeNightAlarms } from './prototype.ts';

// The scorer of the reference data in Python gives these figures for the same answers.
describe('on the answers of the reference detector', () => {
  const histories = packedHistories('synthetic-dev');
  const labelled = packedHistories('labelled');
  const verdicts = new Map([...prototypeCells()].map(([id, { verdict }]) => [id, verdict]));

  test.each([
    ['histories', scoreHistories(histories, prototypeAlarms('prototype-histories')), 145, 7, 14, 0.932, 0.29, [2, 64]],
    ['night by night', scoreNights(histories, prototypeNightAlarms()), 143, 12, 16, 0.911, 0.5, [1, 64]],
    ['recorded', scoreHistories(labelled, prototypeAlarms('prototype-labelled')), 18, 12, 1, 0.735, 1.04, [0, 2]],
  ])('%s', (_, score, hit, wrong, missed, f1, falsePer1000, nullFlagged) => {
    expect(score).toMatchObject({ hit, wrong, missed, f1, falsePer1000, nullFlagged });
  });

  test('two commits', () => {
    const figures = { hit: 90, wrong: 0, missed: 6, precision: 1, recall: 0.938, f1: 0.968, falsePer1000: 0 };
    expect(scoreCells(packedCells(), verdicts)).toMatchObject({ ...figures, quietAlarmed: [0, 6], unclear: 218 });
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

const ramp: Change = { index: 40, end: 60, kind: 'ramp', rel: 0.1, snr: null };

test.each<[string, LabelledHistory, readonly Alarm[], object]>([
  ['within three nights of a step', history(step(50)), up(47), { hit: 1, wrong: 0, missed: 0 }],
  ['not four', history(step(50)), up(54), { hit: 0, wrong: 1, missed: 1 }],
  ['one to one', history(step(50)), up(49, 50, 51), { hit: 1, wrong: 2 }],
  // 52 is nearer to 53 than to 50; 49 is left for 50.
  ['the nearest first', history(step(50), step(53)), up(49, 52), { hit: 2, wrong: 0 }],
  ['more hits inside a ramp are neither right nor wrong', history(ramp), up(37, 50, 63), { hit: 1, wrong: 0 }],
  ['but outside of it they are', history(ramp), up(36, 64), { hit: 0, wrong: 2, missed: 1 }],
  ['a wrong direction is counted apart', history(step(50, -0.1)), up(50), { hit: 1, wrongDirection: 1 }],
  ['nothing said of nothing is right', history(), [], { f1: 1, nullFlagged: [0, 1], falsePer1000: 0 }],
  ['false alarms count against measured nights', history(), up(30, 40), { f1: 0, falsePer1000: 20.2 }],
])('matching: %s', (_, truth, alarms, expected) => {
  expect(scoreHistories([truth], new Map([['h', alarms]]))).toMatchObject(expected);
});
