import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { Sweep } from '../../../src/records/sweep.ts';
import { openStore, type StoreDatabase } from '../../../src/store/file/open.ts';
import { sweepsById } from '../../../src/store/sweeps/find-sweeps.ts';
import { matrixCellsOf, withFitRuns } from '../../../src/store/sweeps/swept-cells.ts';
import { newestFitSweeps } from '../../../src/store/sweeps/newest-fit.ts';
import { bench, ROOT, temporaryFolder, temporaryStore } from '../../support/bench.ts';
import { simulatedStore } from '../../support/made-stores.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB } from '../../support/stub.ts';
import { batchMatrix } from '../../support/trouble.ts';

const CELLS = simulatedCells(3);
const [A = '', B = '', C = ''] = CELLS.map(({ key }) => key);

/** Five nights of three cells: in night 2 no run of B is fit, in night 3 none of any cell, night 4 is of A alone. */
function store(): StoreDatabase {
  const flag = { id: 'contended', effect: 'explained', value: null, evidence: 'python3 (4711)' } as const;
  const contended = (cell: number, night: number): boolean => night === 3 && cell === 2;
  const value = (cell: number, night: number): number | null =>
    (night === 3 && cell < 2) || (night === 2 && cell === 1) ? null : 1;
  const flags = (cell: number, night: number) => (contended(cell, night) ? [flag] : []);
  const path = simulatedStore({ cells: CELLS, nights: 4, repeats: 2, value, flags });
  simulateNights(path, { cells: CELLS.slice(0, 1), nights: 1, after: 4, repeats: 2, value: () => 1 });
  const { db } = openStore(path, join(ROOT, 'migrations'));
  db.$client
    .prepare('UPDATE sweeps SET plan = ? WHERE sweep_id = ?')
    .run(JSON.stringify({ leftOut: [B, C] }), sweepOfNight(4));
  return db;
}

function nightOf(db: StoreDatabase, number: number): Sweep {
  const [sweep] = sweepsById(db, [sweepOfNight(number)]);
  if (sweep === undefined) throw new Error(`no night ${number}`);
  return sweep;
}

test('a sweep says what it planned, and what was left out of it', () => {
  const db = store();
  expect([matrixCellsOf(db, sweepOfNight(4)), matrixCellsOf(db, sweepOfNight(0))]).toEqual([
    { planned: new Set([A]), leftOut: new Set([B, C]) },
    { planned: new Set([A, B, C]), leftOut: null },
  ]);
});

test('a sweep whose runs all failed, or had another process on the GPU, has no fit run', () => {
  const db = store();
  const nights = [0, 1, 2, 3, 4].map((number) => sweepOfNight(number));
  expect(withFitRuns(db, nights)).toEqual(new Set(nights.filter((id) => id !== sweepOfNight(3))));
});

test('each cell has the newest sweep with a fit run of it, until the one asked for', () => {
  const db = store();
  const newest = (number: number, options = {}): unknown =>
    [A, B, C].map((key) => newestFitSweeps(db, nightOf(db, number), options).get(key)?.sweepId ?? null);
  expect(newest(4)).toEqual([4, 1, 2].map((number) => sweepOfNight(number)));
  expect(newest(3)).toEqual([2, 1, 2].map((number) => sweepOfNight(number)));
  expect(newest(1)).toEqual([1, 1, 1].map((number) => sweepOfNight(number)));
  expect(newest(4, { cellKeys: [C] })).toEqual([null, null, sweepOfNight(2)]);
  expect(newest(4, { limit: 3 })).toEqual([sweepOfNight(4), null, sweepOfNight(2)]);
  expect(newest(4, { matrices: ['other'] })).toEqual([null, null, null]);
});

test('latest and latest~1 skip a sweep without a fit run, and say so once', async () => {
  const { folder, db } = temporaryStore();
  const matrix = batchMatrix(folder, [1, 2, 3], ['repeats: 1']);
  const run = (rules: readonly unknown[]) => {
    const env = { STUB_RULES: JSON.stringify(rules) };
    return bench(['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry'], { cwd: folder, env });
  };
  await run([]);
  await run([]);
  await run([{ when: '--loadEngine', does: 'fails' }]);
  const rows = queryStore<{ id: string }>(db, 'SELECT sweep_id AS id FROM sweeps ORDER BY started_at');
  const [first, second, third] = rows.map(({ id }) => id);
  const compare = (...args: readonly string[]) => bench(['compare', ...args, '--db', db], { cwd: folder });
  const judged = await compare('--json');
  expect([judged.code, JSON.parse(judged.stdout)]).toMatchObject([4, { head: { sweepIds: [third] } }]);
  const named = await compare('latest~1', 'latest', '--json');
  expect(JSON.parse(named.stdout)).toMatchObject({ base: { sweepIds: [first] }, head: { sweepIds: [second] } });
  const text = await compare('latest~1', 'latest');
  const tooFar = await compare('latest~2', 'latest');
  expect(tooFar.stderr).toContain(' of this branch, matrix and provenance; latest skips 1 sweep without a fit run; ');
  const said = `${text.stdout}${text.stderr}`.replaceAll(/\s+/g, ' ');
  expect(said.split('latest skips 1 sweep without a fit run')).toHaveLength(2);
  // It is the newest sweep all the same.
  const shown = await bench(['show', 'latest', '--json', '--db', db], { cwd: folder });
  expect(JSON.parse(shown.stdout)).toMatchObject({ sweepId: third, counts: { measured: 0, failed: 3 } });
});

test('where no sweep has a fit run, latest is the newest', async () => {
  const { folder, db } = temporaryStore();
  const env = { STUB_RULES: JSON.stringify([{ when: '--loadEngine', does: 'fails' }]) };
  const run = ['run', batchMatrix(folder, [1, 2]), '--trtexec', STUB, '--db', db, '--no-telemetry'];
  await bench(run, { cwd: folder, env });
  const compared = await bench(['compare', 'latest', 'latest', '--db', db], { cwd: folder });
  expect(compared.stderr).toContain('both sides are sweep ');
});

test('a filter, and a budget, are kept with the sweep', async () => {
  const { folder, db: path } = temporaryStore();
  const matrix = batchMatrix(folder, [1, 2, 3], ['repeats: 1']);
  const run = (...args: string[]) =>
    bench(['run', matrix, '--trtexec', STUB, '--db', path, '--no-telemetry', ...args], { cwd: folder });
  await run();
  await run('--filter', 'batch=2');
  const ids = queryStore<{ id: string }>(path, 'SELECT sweep_id AS id FROM sweeps ORDER BY started_at').map(
    ({ id }) => id,
  );
  const [whole = '', filtered = ''] = ids;
  const { db } = openStore(path, join(ROOT, 'migrations'));
  const sizes = [whole, filtered].map((id) => {
    const { leftOut, planned } = matrixCellsOf(db, id);
    return [planned.size, leftOut?.size];
  });
  expect(sizes).toEqual([
    [3, 0],
    [1, 2],
  ]);
  const [sweep] = sweepsById(db, [filtered]);
  const newest = sweep === undefined ? [] : [...newestFitSweeps(db, sweep).values()].map(({ sweepId }) => sweepId);
  expect(newest.toSorted()).toEqual([filtered, whole, whole].toSorted());
  db.$client.close();
  const rebuilt = join(temporaryFolder(), 'bench.sqlite');
  await bench(['import', join(folder, 'artefacts'), '--db', rebuilt]);
  expect(matrixCellsOf(openStore(rebuilt, join(ROOT, 'migrations')).db, filtered).leftOut?.size).toBe(2);
});
