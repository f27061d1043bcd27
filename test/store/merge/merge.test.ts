import { copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import Database from 'better-sqlite3';
import { getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { describe, expect, test } from 'vitest';

import * as annotationTables from '../../../src/store/annotations-schema.ts';
import { MERGED_TABLES } from '../../../src/store/merge/tables.ts';
import * as tables from '../../../src/store/schema.ts';
import { bench, benchProcess, finished, ROOT, startBench, temporaryFolder, refusal } from '../../support/bench.ts';
import { storeIn } from '../../support/made-stores.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { change, queryStore } from '../../support/store-dump.ts';
import { CAN_MOUNT, onSmallDisk, rowsOf, storeOfNights } from '../../support/stores.ts';

const PAIR = ['run', join(ROOT, 'matrices', 'quickstart-pair.yaml')];

const newStore = (): string => join(temporaryFolder(), 'bench.sqlite');

const measuredStore = (name: 'pair' | 'samePair' = 'pair'): Promise<string> => storeIn(temporaryFolder(), name);

function artefactFiles(db: string): string[] {
  const folder = join(dirname(db), 'artefacts');
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
  return names.filter((name) => !/\.tmp-\d+|\.lock$/.test(name)).toSorted();
}

async function mergeJson(into: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await bench(['db', 'merge', ...args, '--db', into, '--json']);
  return { code, stderr, ...JSON.parse(stdout === '' ? '{"stores":[]}' : stdout) };
}

test('every table of the schema has its place in a merge', () => {
  const known = Object.values({ ...tables, ...annotationTables })
    .filter((table) => is(table, SQLiteTable))
    .map((table) => getTableName(table));
  expect(Object.values(MERGED_TABLES).flat().toSorted()).toEqual(known.toSorted());
});

describe('two stores', () => {
  test('become one with the rows and artefacts of both; again nothing comes', async () => {
    const [one, two] = [await measuredStore(), await measuredStore('samePair')];
    await bench(['import', join(FIXTURES, 'failures'), '--db', two]);
    await bench(['baseline', 'set', 'v1', '--db', two]);
    const ofTwo = artefactFiles(two);
    const ofOne = artefactFiles(one);
    const first = await mergeJson(one, two);
    expect([first.code, first.stderr]).toEqual([0, '']);
    const runs = queryStore(two, 'SELECT 1 FROM runs').length;
    const artefacts = { folders: runs, missing: 0 };
    const added = { runs, baselines: 1 };
    expect(first.stores[0]).toMatchObject({ added, alreadyThere: { sweeps: 0, runs: 0 }, conflicts: [], artefacts });
    expect(artefactFiles(one)).toEqual([...new Set([...ofOne, ...ofTwo])].toSorted());
    const before = rowsOf(one);
    expect((await mergeJson(one, two)).stores[0]).toMatchObject({
      added: { sweeps: 0, runs: 0, cells: 0, baselines: 0 },
      alreadyThere: { runs },
      conflicts: [],
      artefacts: { folders: 0, missing: 0 },
    });
    expect(rowsOf(one)).toEqual(before);
    const verified = await bench(['db', 'verify', '--db', one]);
    expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('no damage')]);
  });

  test('where artefacts are linked, what one removes stays in the other', async () => {
    const [one, two] = [await measuredStore(), newStore()];
    await mergeJson(two, one);
    rmSync(join(dirname(two), 'artefacts'), { recursive: true });
    expect((await bench(['db', 'verify', '--db', one])).code).toBe(0);
    const none = newStore();
    const skipped = await mergeJson(none, one, '--no-artefacts');
    expect([skipped.stores[0].artefacts, artefactFiles(none)]).toEqual([null, []]);
  });
});

describe('the same id', () => {
  test('with other content is told by table and column, and what was here is kept', async () => {
    const [one, two] = [await measuredStore(), newStore()];
    await mergeJson(two, one);
    change(
      two,
      `UPDATE measurements SET throughput_qps = throughput_qps * 2;
       UPDATE sweeps SET git_branch = 'other';
       DELETE FROM samples`,
    );
    const before = rowsOf(one);
    const { code, stores } = await mergeJson(one, two);
    expect(code).toBe(4);
    const runs = queryStore(one, 'SELECT 1 FROM measurements').length;
    const id: unknown = expect.any(String);
    expect(stores[0].conflicts).toEqual([
      { table: 'sweeps', columns: ['git_branch'], rows: 1, examples: [id] },
      { table: 'measurements', columns: ['throughput_qps'], rows: runs, examples: [id, id, id] },
    ]);
    expect(rowsOf(one)).toEqual(before);
    const samples: unknown = expect.objectContaining({ table: 'samples', columns: [], rows: 5 });
    expect((await mergeJson(two, one)).stores[0].conflicts).toContainEqual(samples);
    const { stdout } = await bench(['db', 'merge', two, '--db', one]);
    const text = /\d+ rows of measurements differ under the same id: what was here\s+is kept: throughput_qps/;
    expect(stdout).toMatch(text);
  });

  test('a baseline of the same name stays where it points', async () => {
    const [one, two] = [await measuredStore(), await measuredStore('samePair')];
    for (const db of [one, two]) await bench(['baseline', 'set', 'v1', '--db', db]);
    const ours = queryStore(one, 'SELECT sweep_id FROM baselines');
    const { code, stores } = await mergeJson(one, two);
    expect(code).toBe(4);
    expect(stores[0].conflicts).toEqual([{ table: 'baselines', columns: ['sweep_id'], rows: 1, examples: ['v1'] }]);
    expect(queryStore(one, 'SELECT sweep_id FROM baselines')).toEqual(ours);
  });

  test('a sweep that came further there is brought up to it, never back', async () => {
    const [one, two] = [await measuredStore(), newStore()];
    await mergeJson(two, one);
    change(
      two,
      `UPDATE sweeps SET state = 'interrupted', finished_at = NULL;
       DELETE FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE role = 'timed' ORDER BY run_id LIMIT 4)`,
    );
    const back = await mergeJson(one, two);
    expect([back.code, back.stores[0].updatedSweeps]).toEqual([0, 0]);
    expect((await mergeJson(two, one)).stores[0]).toMatchObject({ added: { sweeps: 0, runs: 4 }, updatedSweeps: 1 });
    expect(rowsOf(two)).toEqual(rowsOf(one));
  });
});

test('what was pruned: here is not brought back, and there is not asked for', async () => {
  const [one, two] = [await measuredStore(), newStore()];
  await mergeJson(two, one);
  // In no repository, as those of `one`: another branch would be another series.
  for (let n = 0; n < 2; n += 1) await bench([...PAIR, '--db', two], { cwd: dirname(two) });
  await bench(['db', 'prune', '--keep-sweeps', '1', '--db', two]);
  const pruned = queryStore(two, 'SELECT * FROM pruned_runs ORDER BY run_id');
  expect(pruned).toHaveLength(11);
  const into = await mergeJson(two, one);
  const expected = [0, [], { folders: 0, bytes: 0, missing: 0 }];
  expect([into.code, into.stores[0].conflicts, into.stores[0].artefacts]).toEqual(expected);
  expect(queryStore(two, 'SELECT * FROM pruned_runs ORDER BY run_id')).toEqual(pruned);
  const fresh = newStore();
  expect((await mergeJson(fresh, two)).stores[0].artefacts).toMatchObject({ folders: 21, missing: 0 });
  expect([rowsOf(fresh), (await bench(['db', 'verify', '--db', fresh])).code]).toEqual([rowsOf(two), 0]);
}, 60_000);

describe('what is no other store', () => {
  test('is refused in one line, and nothing is made', async () => {
    const one = await measuredStore();
    const empty = join(dirname(one), 'empty.sqlite');
    new Database(empty).close();
    const cases: [string, string][] = [
      [one, 'is the store itself'],
      ['/nowhere/at/all/none.sqlite', 'store not found'],
      [empty, 'is empty'],
    ];
    for (const [other, message] of cases) {
      expect(await bench(['db', 'merge', other, '--db', one])).toEqual(refusal(message));
    }
    const none = newStore();
    await bench(['db', 'merge', empty, '--db', none]);
    expect(existsSync(none)).toBe(false);
  });

  test('a store of a newer bench is refused, and one that lacks rows is not taken', async () => {
    const [one, newer] = [newStore(), await measuredStore()];
    const broken = newStore();
    await mergeJson(broken, newer);
    change(broken, 'PRAGMA foreign_keys = OFF; DELETE FROM environments');
    const damaged = await bench(['db', 'merge', broken, '--db', one]);
    expect(damaged).toEqual(refusal('refer to environments that it lacks'));
    expect(queryStore(one, 'SELECT 1 FROM runs')).toEqual([]);
    change(newer, `INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 99999999999999)`);
    const refused = await bench(['db', 'merge', newer, '--db', one]);
    expect(refused).toEqual(refusal('was written by a newer version of bench'));
  });
});

test('SIGKILL at any moment of a merge leaves all of it or nothing, and again brings it', async () => {
  const [one, two] = [storeOfNights(20), storeOfNights(30, 20)];
  const whole = join(temporaryFolder(), 'bench.sqlite');
  const started = Date.now();
  await benchProcess(['db', 'merge', one, two, '--db', whole]);
  let mergeMs = Date.now() - started;
  const expected = rowsOf(whole);
  for (let kills = 0; kills < 2;) {
    const into = join(temporaryFolder(), 'bench.sqlite');
    copyFileSync(one, into);
    const child = startBench(['db', 'merge', two, '--db', into]);
    const ended = finished(child);
    await sleep((mergeMs * (kills + 1)) / 3);
    child.kill('SIGKILL');
    if ((await ended).signal !== 'SIGKILL') {
      // It was at its end already: the machine is less busy than when the time was taken.
      mergeMs *= 0.9;
      continue;
    }
    kills += 1;
    expect(queryStore(into, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const sweeps = queryStore<{ runs: number }>(into, 'SELECT count(*) AS runs FROM runs GROUP BY sweep_id');
    expect([20, 50]).toContain(sweeps.length);
    expect(new Set(sweeps.map(({ runs }) => runs))).toEqual(new Set([100]));
    expect([(await bench(['db', 'merge', two, '--db', into])).code, rowsOf(into)]).toEqual([0, expected]);
  }
}, 240_000);

test('SIGKILL while artefacts are copied leaves whole folders, and again brings the rest', async () => {
  const one = join(temporaryFolder(), 'bench.sqlite');
  await bench(['run', 'matrices/quickstart.yaml', '--db', one]);
  const into = join(temporaryFolder(), 'bench.sqlite');
  const child = startBench(['db', 'merge', one, '--db', into]);
  const ended = finished(child);
  const isBegun = (): boolean => {
    try {
      return artefactFiles(into).length > 0;
    } catch {
      // A folder got its final name while it was listed.
      return false;
    }
  };
  while (!isBegun() && child.exitCode === null) await sleep(1);
  child.kill('SIGKILL');
  await ended;
  expect((await bench(['db', 'merge', one, '--db', into])).code).toBe(0);
  expect([artefactFiles(into), (await bench(['db', 'verify', '--db', into])).code]).toEqual([artefactFiles(one), 0]);
}, 60_000);

describe.skipIf(!CAN_MOUNT)('a full disk', () => {
  test('ends a merge and a backup in one line; nothing is lost, and with room it goes on', async () => {
    const [one, two] = [storeOfNights(20), storeOfNights(20, 20)];
    const { stdout, stderr } = await onSmallDisk(
      // Room for the store and a little more.
      `${Math.ceil(statSync(one).size / 1024) + 450}k`,
      `cp "$1" "$DISK/bench.sqlite"
       bench db merge "$2" --db "$DISK/bench.sqlite"
       bench db verify --db "$DISK/bench.sqlite"
       bench db backup --db "$DISK/bench.sqlite"
       ls -A "$DISK"
       mount -o remount,size=30m "$DISK"
       bench db merge "$2" --db "$DISK/bench.sqlite"
       bench db verify --db "$DISK/bench.sqlite"`,
      [one, two],
    );
    expect(stderr.split('\n')).toEqual([
      'bench: the store cannot grow: the disk is full',
      expect.stringMatching(
        /^bench: .*\.backup\.sqlite cannot be written: the disk is full; the store did not change$/,
      ),
      '',
    ]);
    expect(stdout.split('\n')).toEqual([
      'code 3',
      'no damage: 20 sweeps, 2000 runs',
      'code 0',
      'code 3',
      'bench.sqlite',
      expect.stringMatching(/20 sweeps, 2000 runs added$/),
      'code 0',
      'no damage: 40 sweeps, 4000 runs',
      'code 0',
      '',
    ]);
  }, 30_000);
});
