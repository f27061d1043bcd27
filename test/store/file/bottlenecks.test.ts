import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { change } from '../../support/store-dump.ts';
import { MIGRATIONS } from '../../support/old-store.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';

const STORED = `SELECT r.run_id, m.bound_by, m.items_per_s FROM measurements m JOIN runs r USING (run_id)
  WHERE r.cell_key IS NOT NULL ORDER BY r.run_id`;

test('what was stored before bottlenecks were gets the same ones as what is read now', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const folders = ['formats', 'cpu-contended', 'gpu-contended', 'sustained'].map((name) => join(FIXTURES, name));
  expect((await bench(['import', ...folders, '--db', db])).code).toBe(0);
  const read = queryStore<Record<string, unknown>>(db, STORED);
  expect(new Set(read.map((row) => row['bound_by']))).toEqual(
    new Set(['compute', 'power', 'host', 'paced', 'contended', null]),
  );
  expect(read.filter((row) => Number(row['items_per_s']) > 0).length).toBeGreaterThan(40);
  const migration = readFileSync(join(MIGRATIONS, '0014_bottlenecks.sql'), 'utf8');
  const backfill = migration.slice(migration.indexOf('UPDATE')).replaceAll('--> statement-breakpoint', '');
  change(db, 'UPDATE measurements SET bound_by = NULL, items_per_s = NULL');
  change(db, backfill);
  expect(queryStore(db, STORED)).toEqual(read);
  // A copy that takes longer than the query, nearly all of the time; and one that does not.
  change(
    db,
    `UPDATE time_statistics SET median_ms = 1.2 * (SELECT 1000 / throughput_qps FROM measurements m WHERE m.run_id = time_statistics.run_id)
       WHERE metric = 'd2h';
     UPDATE measurements SET gpu_busy = 0.7;
     ${backfill}`,
  );
  const bounds = queryStore<{ by: string | null }>(
    db,
    `SELECT bound_by AS by, count(*) AS runs FROM measurements GROUP BY 1 ORDER BY 1`,
  );
  expect(bounds.map(({ by }) => by)).toEqual(expect.arrayContaining(['d2h', 'host', 'paced', 'contended']));
});
