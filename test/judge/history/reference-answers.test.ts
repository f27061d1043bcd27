import { describe, expect, test } from 'vitest';

import { packedCells, packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { scoreCells, scoreHistories, scoreNights } from '../../../benchmarks/detection/score.ts';
import { type ChangePoint, findChangePoints } from '../../../src/judge/history/lasting-changes.ts';
import { prototypeAlarms, prototypeCells, prototypeNightAlarms } from './prototype.ts';

// The prototype prints margins with three decimals, shares with five; a tie may round either way.
const MARGIN_ERROR = 0.00051;

type Place = { readonly index: number; readonly sign: number; readonly margin: number };

const placesOf = (changes: readonly ChangePoint[]): Place[] =>
  changes.map(({ place, shift, margin }) => ({ index: place, sign: Math.sign(shift), margin }));

/** The margins are close to these; all else is to be equal. */
function close(places: readonly Place[]): object[] {
  return places.map(({ index, sign, margin }) => ({
    index,
    sign,
    margin: expect.toSatisfy((ours: number) => Math.abs(ours - margin) < MARGIN_ERROR),
  }));
}

describe.each([
  ['synthetic-dev', 'prototype-histories', 192],
  ['labelled', 'prototype-labelled', 13],
] as const)('%s', (set, answers, count) => {
  const histories = packedHistories(set);
  const theirs = prototypeAlarms(answers);

  test('every history is there', () => expect([histories.length, theirs.size]).toEqual([count, count]));

  test.each(histories.map((history) => [history.id, history] as const))(
    '%s: the places and margins of the reference',
    (id, history) => expect(placesOf(findChangePoints(nightlyValues(history)))).toEqual(close(theirs.get(id) ?? [])),
  );
});

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
