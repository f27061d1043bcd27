import { describe, expect, test } from 'vitest';

import { packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { type ChangePoint, findChangePoints } from '../../../src/judge/history/lasting-changes.ts';
import { prototypeAlarms } from './prototype.ts';

// The prototype prints margins with three decimals, shares with five; a tie may round either way.
const MARGIN_ERROR = 0.00051;

interface Place {
  readonly index: number;
  readonly sign: number;
  readonly margin: number;
}

function placesOf(changes: readonly ChangePoint[]): Place[] {
  return changes.map(({ night, shift, margin }) => ({ index: night, sign: Math.sign(shift), margin }));
}

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

  test('every history is there', () => {
    expect([histories.length, theirs.size]).toEqual([count, count]);
  });

  test.each(histories.map((history) => [history.id, history] as const))(
    '%s: the places and margins of the reference',
    (id, history) => {
      const ours = placesOf(findChangePoints(nightlyValues(history)));
      expect(ours).toEqual(close(theirs.get(id) ?? []));
    },
  );
});
