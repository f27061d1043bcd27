import { describe, expect, test } from 'vitest';

import { packedCells, packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { compareCells } from '../../../src/judge/compare/compare-cells.ts';
import { type ChangePoint, findChangePoints } from '../../../src/judge/history/lasting-changes.ts';
import { runCentre } from '../../../src/trtexec/log/derived.ts';
import { prototypeAlarms, prototypeCells } from './prototype.ts';

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

describe('two commits', () => {
  const theirs = prototypeCells();
  const matrices = Map.groupBy(packedCells(), ({ matrix }) => matrix);

  test('every cell is there', () => {
    expect([matrices.size, theirs.size]).toEqual([18, 720]);
  });

  // Its detectable effect was of another power: only what it calls is comparable. In two cells a true change is called
  // here alone, in two there alone; one unchanged cell is called here.
  const otherwise = new Map([
    ['dm01-c33', 'larger'],
    ['dm04-c21', 'larger'],
    ['dm05-c25', 'none'],
    ['dm07-c13', 'none'],
    ['dm17-c25', 'smaller'],
  ]);
  test.each([...matrices])('%s: calls what the reference calls', (_, cells) => {
    const { cells: judged } = compareCells(
      cells.map(({ cell, a, b, past }) => ({
        cellKey: cell,
        base: a.map(runCentre),
        head: b.map(runCentre),
        past: past ?? [],
        betterIs: 'lower',
      })),
    );
    const words: Partial<Record<string, string>> = { slower: 'larger', faster: 'smaller' };
    const calls = ['larger', 'smaller'];
    for (const { cellKey, verdict } of judged) {
      const wanted = theirs.get(cellKey)?.verdict ?? '';
      const ours = words[verdict] ?? 'none';
      const called = calls.includes(wanted) ? wanted : 'none';
      expect([cellKey, ours]).toEqual([cellKey, otherwise.get(cellKey) ?? called]);
    }
  });
});
