import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { bench, temporaryFolder, temporaryStore } from '../support/bench.ts';
import { sharedStore, storeIn } from '../support/made-stores.ts';
import { OUTPUTS } from '../support/outputs.ts';
import { queryStore } from '../support/store-dump.ts';

let measured: string;
beforeAll(async () => {
  measured = dirname(await sharedStore('pair'));
}, 60_000);

interface Store {
  readonly folder: string;
  readonly db: string;
  readonly sweepFolder: string;
  /** A run that has samples. */
  readonly runId: string;
}

function storeToDamage(): Store {
  const { folder, db } = temporaryStore();
  cpSync(measured, folder, { recursive: true });
  const [row] = queryStore<{ sweep: string; run: string }>(
    db,
    'SELECT sweep_id AS sweep, run_id AS run FROM samples JOIN runs USING (run_id) ORDER BY run_id',
  );
  if (row === undefined) throw new Error('no run has samples');
  return { folder, db, sweepFolder: join(folder, 'artefacts', row.sweep), runId: row.run };
}

function change(db: string, sql: string): void {
  const client = new Database(db);
  client.pragma('foreign_keys = OFF');
  client.exec(sql);
  client.close();
}

function fileOf({ sweepFolder, runId }: Store, pattern: RegExp): string {
  const name = readdirSync(join(sweepFolder, runId)).find((one) => pattern.test(one));
  if (name === undefined) throw new Error(`no file like ${String(pattern)}`);
  return join(sweepFolder, runId, name);
}

/** Overwrites the second half, as a disk that forgot it. */
function spoil(path: string, from: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0x5a, Math.floor(bytes.length * from));
  writeFileSync(path, bytes);
}

type Damage = readonly [kind: string, cause: (store: Store) => void];

const DAMAGES: readonly Damage[] = [
  ['artefactDamaged', (store) => spoil(fileOf(store, /^stdout/), 0.5)],
  ['artefactMissing', (store) => rmSync(fileOf(store, /^times/))],
  ['artefactMissing', ({ sweepFolder, runId }) => rmSync(join(sweepFolder, runId), { recursive: true })],
  ['artefactDamaged', (store) => writeFileSync(fileOf(store, /^run\.json$/), '{"schemaVersion": 1')],
  ['foreignKey', ({ db }) => change(db, 'DELETE FROM environments')],
  ['file', ({ db }) => spoil(db, 0.5)],
  [
    'schema',
    ({ db }) =>
      change(
        db,
        'DELETE FROM __drizzle_migrations WHERE created_at = (SELECT max(created_at) FROM __drizzle_migrations)',
      ),
  ],
  [
    'engine',
    ({ folder }) =>
      appendFileSync(
        join(folder, 'engines', readdirSync(join(folder, 'engines')).find((name) => name.endsWith('.plan')) ?? ''),
        'x',
      ),
  ],
];

test('a store that was just measured is clean', async () => {
  const { code, stdout, stderr } = await bench(['db', 'verify', '--db', storeToDamage().db]);
  expect([code, stdout, stderr]).toEqual([0, 'no damage: 1 sweep, 11 runs\n', '']);
});

describe('damage is found, named, and told by the exit code', () => {
  test.each(DAMAGES.map(([kind, cause], index) => ({ kind, cause, index })))(
    '$kind ($index)',
    async ({ kind, cause }) => {
      const store = storeToDamage();
      cause(store);
      const before = readFileSync(store.db);
      const ended = await bench(['db', 'verify', '--json', '--db', store.db]);
      expect([ended.code, ended.stderr]).toEqual([4, '']);
      const report = JSON.parse(ended.stdout);
      expect(report.isDamaged).toBe(true);
      expect(new Set(report.found.map((one: { kind: string }) => one.kind))).toEqual(new Set([kind]));
      expect(report.found[0].where).toContain(kind === 'foreignKey' ? 'runs' : '');
      const text = await bench(['db', 'verify', '--db', store.db]);
      expect([text.code, text.stdout.trimEnd().split('\n').length]).toEqual([4, 1 + report.found.length]);
      expect(readFileSync(store.db).equals(before)).toBe(true);
    },
  );

  test('--quick does not read what lies beside the store, and finds what is missing', async () => {
    const store = storeToDamage();
    spoil(fileOf(store, /^stdout/), 0.5);
    expect((await bench(['db', 'verify', '--quick', '--db', store.db])).code).toBe(0);
    rmSync(fileOf(store, /^stdout/));
    expect((await bench(['db', 'verify', '--quick', '--db', store.db])).code).toBe(4);
  });

  test('a backup without artefacts beside it is not damaged: its rows were checked', async () => {
    const store = storeToDamage();
    const copy = join(temporaryFolder(), 'copy.sqlite');
    expect((await bench(['db', 'backup', copy, '--db', store.db])).code).toBe(0);
    const { code, stdout } = await bench(['db', 'verify', '--db', copy]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^no damage: /) });
    expect(stdout).toContain('no artefacts lie next to this store');
  });
});

describe('--rebuild compares the rows with a store made from the artefacts', () => {
  const rebuilt = async (db: string, ...sweeps: readonly string[]) => {
    const { code, stdout, stderr } = await bench(['db', 'verify', '--rebuild', ...sweeps, '--json', '--db', db]);
    expect(stderr).toBe('');
    return { code, ...OUTPUTS['db-verify'].parse(JSON.parse(stdout)) };
  };

  test('of a whole store every row is the same, and nothing is written', async () => {
    const { db, folder } = storeToDamage();
    await bench(['check', '--db', db]);
    const files = (): unknown =>
      readdirSync(folder, { recursive: true }).map((name) => [name, statSync(join(folder, String(name))).mtimeMs]);
    const before = files();
    const { code, found, rebuilt: tables } = await rebuilt(db);
    expect([files(), code, found]).toEqual([before, 0, []]);
    expect(tables?.find(({ table }) => table === 'time_statistics')).toEqual({
      table: 'time_statistics',
      rows: queryStore(db, 'SELECT 1 FROM time_statistics').length,
      notComparable: 0,
    });
    expect(tables?.every(({ notComparable }) => notComparable === 0)).toBe(true);
    const { stdout } = await bench(['db', 'verify', '--rebuild', 'latest', '--db', db]);
    expect(stdout).toMatch(/^no damage: 1 sweep, 11 runs\n\d+ rows compared with the artefacts\n$/);
    expect(await rebuilt(await storeIn(temporaryFolder(), 'night'))).toMatchObject({ code: 0, found: [] });
  });

  test.each([
    [
      'time_statistics',
      `UPDATE time_statistics SET median_ms = median_ms * 1.01 WHERE metric = 'gpuCompute'`,
      'median_ms',
    ],
    ['samples', 'UPDATE samples SET data = substr(data, 1, length(data) / 2)', 'data'],
    ['cells', 'UPDATE cells SET cuda_graph = 1 - cuda_graph', 'cuda_graph'],
    ['measurements', `UPDATE measurements SET gpu_busy = x'00ff'`, 'gpu_busy'],
    ['run_hints', 'DELETE FROM run_hints', 'that the artefacts give'],
    [
      'run_evidence',
      `INSERT INTO run_evidence SELECT run_id, 9, 'stdout', 1, 'x' FROM runs`,
      'that the artefacts do not give',
    ],
  ])('a change in %s is found: %s', async (table, sql, what) => {
    const { db } = storeToDamage();
    change(db, sql);
    const { code, found } = await rebuilt(db);
    const expected = [4, [expect.objectContaining({ kind: 'row', where: table, what: expect.stringContaining(what) })]];
    expect([code, found]).toEqual(expected);
  });

  test('runs that only the artefacts have are damage; a sweep may belong to another store', async () => {
    const { db } = storeToDamage();
    change(db, `PRAGMA foreign_keys = ON; DELETE FROM runs WHERE role = 'timed'`);
    const { code, found } = await rebuilt(db);
    expect(code).toBe(4);
    expect(found.find(({ where }) => where === 'runs')?.what).toMatch(/^lacks \d+ rows that the artefacts give \(/);
    change(db, 'PRAGMA foreign_keys = ON; DELETE FROM sweeps');
    expect(await rebuilt(db)).toMatchObject({ code: 0, found: [{ kind: 'notStored' }] });
  });

  test('rows without artefacts are counted, and what another version stored is no damage', async () => {
    const { db, sweepFolder, runId } = storeToDamage();
    change(
      db,
      `UPDATE sweeps SET tool_version = '0.0.1'; UPDATE measurements SET gpu_busy = 0.5;
       INSERT INTO pruned_runs VALUES ('${runId}', '2026-01-01T00:00:00.000Z', 0, 0, 1)`,
    );
    rmSync(join(sweepFolder, runId), { recursive: true });
    const { code, found, rebuilt: tables } = await rebuilt(db);
    const kinds = found.map(({ kind, where }) => [kind, where]);
    expect(kinds).toContainEqual(['otherParser', 'measurements']);
    // The version itself is no matter of a parser.
    expect([code, kinds]).toEqual([4, expect.arrayContaining([['row', 'sweeps']])]);
    expect(tables?.find(({ table }) => table === 'runs')).toEqual({ table: 'runs', rows: 10, notComparable: 1 });
    expect(tables?.find(({ table }) => table === 'samples')?.notComparable).toBe(1);
  });
});
