import { describe, expect, test } from 'vitest';
import * as z from 'zod';

import { jsonLines, packedCells, packedHistories, packedText } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { scoreCells, scoreHistories, scoreNights } from '../../../benchmarks/detection/score.ts';
import type { Alarm, CellVerdict, NightAlarm } from '../../../benchmarks/detection/score.ts';
import { type ChangePoint, findChangePoints } from '../../../src/judge/history/lasting-changes.ts';

/** What the reference detector printed; see the README of the fixtures. */
const SIGNS = { regression: 1, improvement: -1 } as const;

const direction = z.enum(['regression', 'improvement']);

const placeSchema = z
  .object({ index: z.number(), direction, margin: z.number() })
  .transform((place) => ({ index: place.index, sign: SIGNS[place.direction], margin: place.margin }));

const historySchema = z.object({ id: z.string(), alarms: z.array(placeSchema) });

const nightlySchema = z.object({
  id: z.string(),
  nightly: z.array(
    z
      .object({ night: z.number(), index: z.number(), direction })
      .transform(({ night, index, direction: way }) => ({ night, index, sign: SIGNS[way] })),
  ),
});

const WORDS = { regression: 'larger', improvement: 'smaller', unchanged: 'same', inconclusive: 'unclear' } as const;

const cellSchema = z
  .object({
    id: z.string(),
    verdict: z.enum(['regression', 'improvement', 'unchanged', 'inconclusive']),
    change: z.number(),
    mde: z.number(),
  })
  .transform((cell): PrototypeCell => ({ ...cell, verdict: WORDS[cell.verdict] }));

interface Margin {
  /** At least 1, with three decimals. */
  readonly margin: number;
}

interface PrototypeCell {
  readonly id: string;
  readonly verdict: CellVerdict;
  /** Shares, with five decimals; the common shift is taken off the change. */
  readonly change: number;
  readonly mde: number;
}

function prototypeAlarms(name: 'prototype-histories' | 'prototype-labelled'): Map<string, readonly (Alarm & Margin)[]> {
  return new Map(jsonLines(packedText(name), historySchema).map(({ id, alarms }) => [id, alarms]));
}

const prototypeNightAlarms = (): Map<string, readonly NightAlarm[]> =>
  new Map(jsonLines(packedText('prototype-nightly'), nightlySchema).map(({ id, nightly }) => [id, nightly]));

const prototypeCells = (): Map<string, PrototypeCell> =>
  new Map(jsonLines(packedText('prototype-ab'), cellSchema).map((cell) => [cell.id, cell]));

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
