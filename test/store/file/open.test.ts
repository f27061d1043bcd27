import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { describe, expect, test } from 'vitest';

import { StoreError } from '../../../src/errors.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { bench, benchProcess, finished, ROOT, startBench, temporaryFolder, refusal } from '../../support/bench.ts';
import { queryStore } from '../../support/store-dump.ts';
import { rowsOf, storeOfNights } from '../../support/stores.ts';

const MIGRATIONS = join(ROOT, 'migrations');

describe('opening', () => {
  test('makes the file, in WAL, with foreign keys on', () => {
    const store = openStore(join(temporaryFolder(), 'bench.sqlite'), MIGRATIONS);
    const client = store.db.$client;
    expect(client.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(client.pragma('foreign_keys', { simple: true })).toBe(1);
    expect(client.pragma('synchronous', { simple: true })).toBe(2);
    expect(client.pragma('busy_timeout', { simple: true })).toBe(30_000);
    expect(() => client.exec(`INSERT INTO sweep_cells (sweep_id, cell_key, repeats) VALUES ('x', 'y', 1)`)).toThrow(
      'FOREIGN KEY',
    );
    store.close();
  });

  test('waits while another process creates it', async () => {
    const path = join(temporaryFolder(), 'bench.sqlite');
    const other = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       const client = new (require('better-sqlite3'))(workerData);
       client.exec('BEGIN IMMEDIATE');
       parentPort.postMessage('locked');
       setTimeout(() => client.close(), 300);`,
      { eval: true, workerData: path },
    );
    await once(other, 'message');
    const store = openStore(path, MIGRATIONS);
    expect(store.db.$client.pragma('journal_mode', { simple: true })).toBe('wal');
    store.close();
    await once(other, 'exit');
  });

  test.each([
    ['a file of something else', 'not a store at all, but long enough to be looked at'.repeat(40)],
    ['a file that begins like one', `SQLite format 3\0${'x'.repeat(4000)}`],
  ])('%s is refused and left as it is', (_, content) => {
    const path = join(temporaryFolder(), 'bench.sqlite');
    writeFileSync(path, content);
    expect(() => openStore(path, MIGRATIONS)).toThrow(StoreError);
    expect(() => openStore(path, MIGRATIONS)).toThrow('is not a SQLite file');
    expect(readFileSync(path, 'utf8')).toBe(content);
  });
});

describe('bench db backup', () => {
  test('is one file with every row, under a name of its own or a given one', async () => {
    const db = storeOfNights(3);
    const named = join(dirname(db), 'kept', 'copy.sqlite');
    const given = await bench(['db', 'backup', named, '--json', '--db', db]);
    const expected = [0, { schemaVersion: 1, path: named, bytes: readFileSync(named).length, runs: 300 }];
    expect([[given.code, JSON.parse(given.stdout)], readdirSync(dirname(named))]).toEqual([expected, ['copy.sqlite']]);
    const { code, stdout } = await bench(['db', 'backup', '--db', db]);
    const [path = ''] = stdout.split(': ');
    expect([code, path]).toEqual([0, expect.stringMatching(/bench-\d{4}-\d\d-\d\d-\d{6}Z\.backup\.sqlite$/)]);
    for (const copy of [named, path]) expect(rowsOf(copy)).toEqual(rowsOf(db));
  });

  test('does not overwrite without --force, and never the store', async () => {
    const db = storeOfNights(1);
    const target = join(temporaryFolder(), 'copy.sqlite');
    writeFileSync(target, 'something else');
    const backup = (...args: string[]) => bench(['db', 'backup', ...args, '--db', db]);
    expect(await backup(target)).toEqual(refusal(`bench: ${target} exists; --force overwrites it\n`));
    expect(readFileSync(target, 'utf8')).toBe('something else');
    expect((await backup(target, '--force')).code).toBe(0);
    expect(rowsOf(target)).toEqual(rowsOf(db));
    expect(await backup(db, '--force')).toEqual(refusal(`bench: ${db} is the store itself\n`));
    expect(await backup(dirname(target), '--force')).toEqual(refusal('is a folder'));
  });

  test('of a killed process has no name, and the store has all its rows', async () => {
    const db = storeOfNights(100);
    const before = rowsOf(db);
    for (const delayMs of [200, 350]) {
      const target = join(temporaryFolder(), 'copy.sqlite');
      const child = startBench(['db', 'backup', target, '--db', db]);
      const ended = finished(child);
      await sleep(delayMs);
      child.kill('SIGKILL');
      await ended;
      // Whole or not there.
      if (existsSync(target)) expect(rowsOf(target)).toEqual(before);
    }
    expect(rowsOf(db)).toEqual(before);
  }, 60_000);
});

test('two bench run, readers, a backup and a merge at once on one store', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const other = storeOfNights(5);
  const measuring = [1, 2].map(() => benchProcess(['run', 'matrices/quickstart-pair.yaml', '--db', db]));
  const copies: string[] = [];
  const codes: (number | null)[] = [];
  const state = { isDone: false };
  const whenDone = Promise.all(measuring).finally(() => (state.isDone = true));
  while (!existsSync(db)) await sleep(5);
  const merged = benchProcess(['db', 'merge', other, '--db', db]);
  while (!state.isDone) {
    const copy = join(temporaryFolder(), 'copy.sqlite');
    const read = await Promise.all([
      bench(['ls', 'sweeps', '--db', db]),
      bench(['db', 'info', '--json', '--db', db]),
      bench(['db', 'backup', copy, '--db', db]),
    ]);
    copies.push(copy);
    codes.push(...read.map(({ code }) => code));
    await Promise.race([whenDone, sleep(100)]);
  }
  const ended = (await whenDone).map(({ code, stderr }) => [code, stderr.includes('locked')]);
  expect(ended).toEqual(Array.from({ length: 2 }, () => [0, false]));
  expect([(await merged).code, codes.every((code) => code === 0)]).toEqual([0, true]);
  const timed = queryStore(
    db,
    `SELECT state, count(*) AS runs FROM sweeps JOIN runs USING (sweep_id)
     WHERE role = 'timed' AND runs.provenance = 'recorded' GROUP BY sweep_id`,
  );
  expect(timed).toEqual([1, 2].map(() => ({ state: 'finished', runs: 10 })));
  expect(queryStore(db, `SELECT 1 FROM runs WHERE provenance = 'simulated'`)).toHaveLength(500);
  expect(copies.length).toBeGreaterThan(0);
  for (const copy of copies) {
    expect(queryStore(copy, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(queryStore(copy, 'PRAGMA foreign_key_check')).toEqual([]);
  }
  const verified = await bench(['db', 'verify', '--db', db]);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringMatching(/^no damage: 7 sweeps, 52[12] runs\n$/)]);
}, 60_000);
