import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { Finding } from '../../../src/records/finding.ts';
import { openStore, type StoreDatabase } from '../../../src/store/file/open.ts';
import { sweepsById } from '../../../src/store/sweeps/find-sweeps.ts';
import { acknowledge, listFindings, saveVerdict } from '../../../src/store/sweeps/findings.ts';
import { type Removal, removalOf, removeSweep } from '../../../src/store/sweeps/remove-sweep.ts';
import { ROOT } from '../../support/bench.ts';
import { madeFinding } from '../../support/made-finding.ts';
import { simulatedStore } from '../../support/made-stores.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';

const BETWEEN_SWEEPS = 8;

/** Eight sweeps of two cells, all judged; `findings` were reported by those that they name. */
function storeWith(findings: readonly Finding[], acknowledged: readonly string[] = []): StoreDatabase {
  const made = { cells: simulatedCells(2), repeats: 1, value: () => 1 };
  const path = simulatedStore({ ...made, nights: BETWEEN_SWEEPS, branch: 'main' });
  simulateNights(path, {
    ...made,
    nights: 2,
    after: BETWEEN_SWEEPS,
    branch: 'pull',
    matrix: { name: 'nightly', number: 1 },
  });
  const { db } = openStore(path, join(ROOT, 'migrations'));
  const ids = [
    ...Array.from({ length: BETWEEN_SWEEPS }, (_, night) => sweepOfNight(night)),
    sweepOfNight(8, 1),
    sweepOfNight(9, 1),
  ];
  for (const sweepId of ids) {
    saveVerdict(db, {
      judged: { sweepId, judgedAt: '2026-02-01T00:00:00.000Z', judgedBy: 'reference', failedCells: 0 },
      findings: findings.filter(({ reportedSweepId }) => reportedSweepId === sweepId),
      retracted: [],
      endedAcknowledgements: [],
    });
  }
  const mark = {
    reason: 'tuned for batch 32',
    until: null,
    owner: 'team-vision',
    createdAt: '2026-02-01T00:00:00.000Z',
  };
  acknowledge(
    db,
    acknowledged.map((findingId) => ({ ...mark, findingId: findingId.padEnd(32, '0') })),
  );
  return db;
}

function remove(db: StoreDatabase, night: number): Removal {
  const [sweep] = sweepsById(db, [sweepOfNight(night)]);
  if (sweep === undefined) throw new Error(`no night ${night}`);
  const removal = removalOf(db, sweep);
  removeSweep(db, removal);
  return removal;
}

const judgedOf = (db: StoreDatabase): unknown[] =>
  db.$client.prepare('SELECT sweep_id FROM judged_sweeps ORDER BY sweep_id').pluck().all();

const nameOf = ({ findingId }: Finding): string => findingId.replace(/0+$/, '');

test('later sweeps of the series are judged again, with what they reported; earlier ones and other branches are not', () => {
  const db = storeWith([madeFinding('a', 2), madeFinding('b', 4), madeFinding('c', 6)]);
  const removal = remove(db, 4);
  expect(removal.judgedAgain).toEqual([5, 6, 7].map((night) => sweepOfNight(night)));
  const expected = [...[0, 1, 2, 3].map((night) => sweepOfNight(night)), sweepOfNight(8, 1), sweepOfNight(9, 1)];
  expect(judgedOf(db)).toEqual(expected);
  expect(removal.findings.map((one) => [nameOf(one.finding), one.acknowledgement])).toEqual([
    ['b', null],
    ['c', null],
  ]);
  expect(listFindings(db, 9).map(nameOf)).toEqual(['a']);
});

test('an acknowledged finding of a later sweep stays, between the neighbors of the removed one', () => {
  const later = { firstBadSweepId: sweepOfNight(4), lastGoodSweepId: sweepOfNight(3) };
  const db = storeWith([madeFinding('d', 4), madeFinding('e', 5, later), madeFinding('f', 5)], ['d', 'e', 'f']);
  expect(remove(db, 4).findings.map((one) => [nameOf(one.finding), one.acknowledgement?.reason])).toEqual([
    ['d', 'tuned for batch 32'],
  ]);
  expect(
    listFindings(db, 9)
      .toSorted((a, b) => (a.findingId < b.findingId ? -1 : 1))
      .map((one) => [nameOf(one), one.lastGoodSweepId, one.firstBadSweepId]),
  ).toEqual([
    ['e', sweepOfNight(3), sweepOfNight(5)],
    ['f', sweepOfNight(3), sweepOfNight(5)],
  ]);
  expect(db.$client.prepare('SELECT count(*) FROM acknowledgements').pluck().get()).toBe(2);
});

test('an earlier finding that the sweep, or a later one, ended is open again', () => {
  const db = storeWith([
    madeFinding('a', 1, { state: 'recovered', lastBadSweepId: sweepOfNight(2) }),
    madeFinding('b', 2, { state: 'recovered', lastBadSweepId: sweepOfNight(3) }),
    madeFinding('c', 2, { state: 'recovered', lastBadSweepId: sweepOfNight(5) }),
    madeFinding('d', 2, { kind: 'limit', lastBadSweepId: sweepOfNight(7) }),
    madeFinding('e', 2, { kind: 'limit', lastBadSweepId: sweepOfNight(3) }),
  ]);
  const { changed, reopened } = remove(db, 4);
  expect([reopened.map(nameOf), changed.map(nameOf)]).toEqual([['b', 'c'], ['d']]);
  const stored = listFindings(db, 9).toSorted((a, b) => (a.findingId < b.findingId ? -1 : 1));
  expect(stored.map((one) => [nameOf(one), one.state, one.lastBadSweepId])).toEqual([
    ['a', 'recovered', sweepOfNight(2)],
    ['b', 'open', null],
    ['c', 'open', null],
    ['d', 'open', null],
    ['e', 'open', sweepOfNight(3)],
  ]);
});

test('a pull request that was judged by the sweep is judged again', () => {
  const pull = {
    branch: 'pull',
    lastGoodSweepId: sweepOfNight(7),
    firstBadSweepId: sweepOfNight(8, 1),
    reportedSweepId: sweepOfNight(8, 1),
  };
  const db = storeWith([madeFinding('a', 8, pull)]);
  const removal = remove(db, 7);
  expect(removal.judgedAgain).toEqual([sweepOfNight(8, 1), sweepOfNight(9, 1)]);
  expect([removal.findings.map((one) => nameOf(one.finding)), listFindings(db, 9)]).toEqual([['a'], []]);
});

test('cells that no other sweep has go; those of others, and their runs, stay', () => {
  const path = simulatedStore({ cells: simulatedCells(2), nights: 2, repeats: 3, value: () => 1 });
  simulateNights(path, { cells: simulatedCells(3), nights: 1, after: 2, repeats: 3, value: () => 1 });
  const { db } = openStore(path, join(ROOT, 'migrations'));
  const numbers = (): unknown[] =>
    ['sweeps', 'cells', 'runs', 'measurements', 'time_statistics'].map((table) =>
      db.$client.prepare(`SELECT count(*) FROM ${table}`).pluck().get(),
    );
  const before = numbers();
  remove(db, 2);
  const after = numbers();
  expect([before.slice(0, 4), after.slice(0, 4)]).toEqual([
    [3, 3, 21, 21],
    [2, 2, 12, 12],
  ]);
  expect(db.$client.pragma('foreign_key_check')).toEqual([]);
});
