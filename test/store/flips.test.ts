import { join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { flipBytes } from '../../benchmarks/flips/flip-bytes.ts';
import { fullStore } from '../../benchmarks/flips/full-store.ts';
import { seededRandom } from '../../src/matrix/plan/order.ts';
import { openStore } from '../../src/store/file/open.ts';
import { checkedTables } from '../../src/store/verify/row-checksums.ts';
import { bench, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { MIGRATIONS } from '../support/old-store.ts';
import { queryStore } from '../support/store-dump.ts';

let path: string;
beforeAll(async () => {
  path = await fullStore(sharedFolder());
}, 120_000);

test('every byte that changes an answer is found', { timeout: 120_000 }, async () => {
  const report = await flipBytes(path, temporaryFolder(), 30, seededRandom(15));
  expect(report.missed).toEqual([]);
  expect(report.changed).toBeGreaterThan(5);
  expect(report.found).toBe(report.changed);
});

describe('the checksums of rows', () => {
  test('are in every table, and every table has rows here', () => {
    const tables = queryStore<{ name: string }>(
      path,
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%' ORDER BY name`,
    );
    const client = new Database(path, { readonly: true });
    expect(checkedTables(client).map(({ name }) => name)).toEqual(tables.map(({ name }) => name));
    const empty = tables.filter(({ name }) => client.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() === undefined);
    client.close();
    expect(empty).toEqual([]);
  });

  test.each([
    ['time_statistics', `UPDATE time_statistics SET median_ms = median_ms * 1.01 WHERE metric = 'gpuCompute'`],
    ['sweeps', `UPDATE sweeps SET git_commit = 'abc'`],
    ['cells', `UPDATE cells SET cuda_graph = 1 - cuda_graph WHERE model = 'vit_small'`],
    ['findings', `UPDATE findings SET state = 'recovered'`],
    ['measurements', `UPDATE measurements SET row_checksum = NULL, gpu_busy = 0.5`],
  ])('tell of a change by another program in %s', async (table, sql) => {
    const changed = join(temporaryFolder(), 'bench.sqlite');
    expect((await bench(['db', 'backup', changed, '--db', path])).code).toBe(0);
    const client = new Database(changed);
    const { changes } = client.prepare(sql).run();
    client.close();
    expect(changes).toBeGreaterThan(0);
    const { code, stdout } = await bench(['db', 'verify', '--json', '--db', changed]);
    const rows = JSON.parse(stdout).found.filter(({ kind }: { kind: string }) => kind === 'row');
    expect([code, rows]).toEqual([
      4,
      [expect.objectContaining({ where: table, what: expect.stringContaining(`${changes} row`) })],
    ]);
  });

  test('are kept by whatever bench itself does to its rows', async () => {
    const own = join(temporaryFolder(), 'bench.sqlite');
    const steps = [
      ['db', 'merge', path],
      ['check'],
      ['db', 'rejudge'],
      ['baseline', 'set', 'v2'],
      ['db', 'merge', path],
      ['db', 'prune', '--keep-sweeps', '5'],
      ['import', 'test/fixtures/trtexec/formats'],
    ];
    for (const step of steps) {
      const { code, stderr } = await bench([...step, '--db', own]);
      expect([step, code, stderr]).toEqual([step, expect.toBeOneOf([0, 1, 4]), stderr]);
    }
    const { stdout } = await bench(['db', 'verify', '--json', '--db', own]);
    const found: { kind: string }[] = JSON.parse(stdout).found;
    expect(found.filter(({ kind }) => ['row', 'samples', 'layers', 'schema'].includes(kind))).toEqual([]);
  });

  test('come with the next opening after a migration', () => {
    const copy = join(temporaryFolder(), 'bench.sqlite');
    const store = openStore(copy, MIGRATIONS);
    store.db.$client.exec(`INSERT INTO environments (environment_id) VALUES ('e')`);
    store.close();
    const client = new Database(copy);
    client.exec(`UPDATE environments SET gpu_name = 'by a migration'; PRAGMA user_version = 3`);
    client.close();
    openStore(copy, MIGRATIONS).close();
    const [row] = queryStore<{ row_checksum: number }>(copy, 'SELECT row_checksum FROM environments');
    const again = openStore(copy, MIGRATIONS);
    again.db.$client.exec(`UPDATE environments SET gpu_name = 'by a migration'`);
    again.close();
    expect(queryStore(copy, 'SELECT row_checksum FROM environments')).toEqual([row]);
  });
});
