import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { openStore } from '../../../src/store/file/open.ts';
import { bench, benchProcess, sharedFolder, temporaryFolder } from '../../support/bench.ts';
import { MIGRATIONS, oldStore, TAGS } from '../../support/old-store.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { change, queryStore } from '../../support/store-dump.ts';

/** Whoever reads without writing, as these tests do, leaves the files of the WAL. */
function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !/-(?:wal|shm)$/.test(name))
    .toSorted();
}

const RUNS = 'SELECT run_id, sweep_id, environment_id, outcome FROM runs';

/** The copies of a store from before a migration. */
const copiesOf = (path: string, tag = ''): string[] =>
  filesIn(dirname(path)).flatMap((name) =>
    name.startsWith(`${basename(path)}.before-${tag}`) ? join(dirname(path), name) : [],
  );

const OLDER = TAGS.map((tag, migrations) => ({ tag, migrations })).slice(1);

describe.each(OLDER)('a store from before $tag', ({ tag, migrations }) => {
  test('opens with its data, and is left beside as it was', async () => {
    const path = oldStore(migrations);
    const runs = queryStore(path, RUNS);
    const first = await bench(['ls', 'sweeps', '--db', path]);
    const [copy = ''] = copiesOf(path, tag);
    expect(first).toMatchObject({
      code: 0,
      stderr: `note: bench migrated the store; a copy of the old one is ${copy}\n`,
    });
    expect([first.stdout, queryStore(path, RUNS)]).toEqual([expect.stringContaining('aaaaaaaa'), runs]);
    const applied = 'SELECT count(*) AS n FROM __drizzle_migrations';
    expect(queryStore(path, applied)).toEqual([{ n: TAGS.length }]);
    expect(queryStore(copy, RUNS)).toEqual(runs);
    expect(queryStore(copy, applied)).toEqual([{ n: migrations }]);
    const verified = await bench(['db', 'verify', '--db', path]);
    expect([verified.code, verified.stderr]).toEqual([0, '']);
  });
});

test('a store of before is merged from a copy, and left as it is', async () => {
  const path = oldStore(1);
  const bytes = readFileSync(path);
  const into = join(temporaryFolder(), 'bench.sqlite');
  const merged = await bench(['db', 'merge', path, '--db', into]);
  expect([merged.code, merged.stdout]).toEqual([0, expect.stringContaining('1 sweep, 1 run added')]);
  expect([readFileSync(path).equals(bytes), queryStore(into, RUNS)]).toEqual([true, queryStore(path, RUNS)]);
});

/** As the version before reference levels left a store that was checked. */
function asBefore(path: string, sql: string): void {
  const client = new Database(path);
  const plainRows = readFileSync(join(MIGRATIONS, '0017_plain-rows.sql'), 'utf8');
  for (const [, table] of plainRows.matchAll(/ALTER TABLE `(\w+)` DROP COLUMN/g)) {
    client.exec(`ALTER TABLE ${table} ADD row_checksum integer`);
  }
  for (const column of ['p90_ms', 'p95_ms', 'p99_ms', 'other_percentiles']) {
    client.exec(`ALTER TABLE time_statistics ADD ${column} real`);
  }
  client.exec(`ALTER TABLE run_telemetry DROP COLUMN process_memory_max_mib;
    ALTER TABLE run_telemetry DROP COLUMN host_memory_max_mib; ALTER TABLE run_telemetry DROP COLUMN temperature_start_c;
    ALTER TABLE environments DROP COLUMN binding; ALTER TABLE environments DROP COLUMN harness;
    ALTER TABLE findings RENAME COLUMN lasts TO confirmed_by;
    ALTER TABLE findings ADD COLUMN probability real;
    UPDATE judged_sweeps SET judged_by = 'history';
    DELETE FROM __drizzle_migrations WHERE created_at IN
      (SELECT created_at FROM __drizzle_migrations ORDER BY created_at DESC LIMIT 6);
    ${sql}`);
  client.close();
}

describe('findings of before reference levels', () => {
  const CELLS = simulatedCells(4);
  const value = (cell: number, night: number, repeat: number): number =>
    (1 + cell + 0.0007 * ((7 * night + 3 * repeat + cell) % 5)) *
    (night >= 9 && cell === 1 ? 1.08 : 1) *
    (night >= 8 && cell === 2 ? 1.05 : 1);

  const checked = join(sharedFolder(), 'bench.sqlite');
  beforeAll(async () => {
    simulateNights(checked, { cells: CELLS, nights: 10, repeats: 2, value });
    await bench(['check', '--db', checked]);
  });

  test.each([
    ['confirmed', 'change', null, 'open', 'change', null],
    ['open', 'environment', null, 'open', 'change', 'environment'],
    ['machine', 'change', null, 'open', 'change', 'machine'],
    ['cleared', 'change', null, 'recovered', 'change', null],
    ['recovered', 'limit', 'engine', 'recovered', 'limit', 'engine'],
    // No finding.
    ['suspected', 'change', null, null, null, null],
  ])('%s, %s: %s becomes %s', async (state, kind, cause, stateAfter, kindAfter, causeAfter) => {
    const path = join(temporaryFolder(), 'bench.sqlite');
    copyFileSync(checked, path);
    asBefore(
      path,
      `UPDATE findings SET state = '${state}', kind = '${kind}', cause = ${cause === null ? 'NULL' : `'${cause}'`}`,
    );
    await bench(['ls', 'sweeps', '--db', path]);
    const rows = queryStore(path, 'SELECT DISTINCT state, kind, cause FROM findings');
    expect(rows).toEqual(stateAfter === null ? [] : [{ state: stateAfter, kind: kindAfter, cause: causeAfter }]);
  });
});

test('four processes that bring a store up to date leave one copy of it', async () => {
  const path = oldStore(1);
  const ended = await Promise.all(Array.from({ length: 4 }, () => benchProcess(['ls', 'sweeps', '--db', path])));
  expect(ended.map(({ code }) => code)).toEqual(ended.map(() => 0));
  const [copy = ''] = copiesOf(path, TAGS[1]);
  expect(filesIn(dirname(path))).toEqual(['bench.sqlite', basename(copy)]);
  expect(queryStore(copy, RUNS)).toHaveLength(1);
}, 60_000);

test('a copy of another time is not overwritten, and an empty store leaves none', async () => {
  const path = oldStore(2);
  const other = `${path}.before-${TAGS[2]}-00000000`;
  writeFileSync(other, 'of another time');
  await bench(['ls', 'sweeps', '--db', path]);
  expect(readFileSync(other, 'utf8')).toBe('of another time');
  expect(queryStore(copiesOf(path, TAGS[2]).find((copy) => copy !== other) ?? '', RUNS)).toHaveLength(1);
  const empty = oldStore(2);
  change(empty, 'DELETE FROM runs; DELETE FROM sweeps');
  await bench(['ls', 'sweeps', '--db', empty]);
  expect(copiesOf(empty, TAGS[2])).toEqual([]);
});

describe('a store of a newer bench, and a database of another program', () => {
  const commands = [
    ['compare'],
    ['check'],
    ['run', 'matrices/quickstart-pair.yaml'],
    ['import', 'test/fixtures/guide/listing-06-fp16-summary.log'],
    ['db', 'verify'],
    ['db', 'backup'],
  ];

  test('are refused in one line, and left as they are', async () => {
    const folder = temporaryFolder();
    const newer = join(folder, 'newer.sqlite');
    openStore(newer, MIGRATIONS).close();
    const foreign = join(folder, 'foreign.sqlite');
    for (const [path, sql] of [
      [newer, `INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 99999999999999)`],
      [foreign, 'CREATE TABLE theirs (a)'],
    ] as const) {
      change(path, sql);
    }
    const before = readFileSync(foreign);
    for (const command of [...commands, ['db', 'merge', newer]]) {
      for (const [db, message] of [
        [newer, 'was written by a newer version of bench; update this one to open it'],
        [foreign, 'is a database of another program, not a store of bench'],
      ] as const) {
        if (command.includes(newer) && db === newer) continue;
        const { code, stdout, stderr } = await bench([...command, '--db', db]);
        const reported = command.includes(newer) ? 'newer version of bench' : `${db} ${message}\n`;
        expect([command, code, stdout, stderr]).toEqual([command, 2, '', expect.stringContaining(reported)]);
      }
    }
    expect([readFileSync(foreign).equals(before), filesIn(folder)]).toEqual([true, ['foreign.sqlite', 'newer.sqlite']]);
  }, 120_000);
});

test('imports of a store from before the order of imports was kept stay in the order in which they came', async () => {
  const path = oldStore(TAGS.indexOf('0008_import-order'));
  const client = new Database(path);
  const ids = [
    ['second', 'd'],
    ['first', 'c'],
    ['third', 'b'],
  ] as const;
  for (const [name, digit] of ids) {
    client.exec(`INSERT INTO sweeps (sweep_id, source, name, provenance, state, tool_version)
      VALUES ('${digit.repeat(32)}', 'import', '${name}', 'imported', 'finished', '0.1.0')`);
  }
  client.close();
  const { stdout } = await bench(['ls', 'sweeps', '--json', '--db', path]);
  const { sweeps }: { sweeps: { name: string | null }[] } = JSON.parse(stdout);
  expect(sweeps.map(({ name }) => name)).toEqual([null, 'third', 'first', 'second']);
});
