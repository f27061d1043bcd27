import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { storeIn } from '../../support/made-stores.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { queryStore } from '../../support/store-dump.ts';

const TABLES = ['findings', 'finding_cells', 'acknowledgements', 'judged_sweeps'];

test('findings, acknowledgements and judged sweeps come back with the artefacts', async () => {
  const folder = temporaryFolder();
  const db = await storeIn(folder, 'pairs');
  const client = new Database(db);
  client.exec(`UPDATE sweeps SET matrix = 'one'`);
  client.close();
  const checked = await bench(['check', '--json', '--db', db], { cwd: folder });
  const { findings } = OUTPUTS.check.parse(JSON.parse(checked.stdout));
  expect([checked.code, findings.length]).toEqual([1, 1]);
  const id = findings[0]?.id ?? '';
  const ack = ['ack', id, '--reason', 'tuned for batch 32', '--owner', 'team-vision', '--db', db];
  expect((await bench(ack, { cwd: folder })).code).toBe(0);
  const again = await bench(['check', '--db', db], { cwd: folder });
  expect([again.code, again.stdout.split('\n')[0]]).toEqual([0, 'nothing slower; 1 finding acknowledged']);
  const rebuilt = join(temporaryFolder(), 'bench.sqlite');
  await bench(['import', join(folder, 'artefacts'), '--db', rebuilt], { cwd: folder });
  for (const table of TABLES) {
    const rows = queryStore(db, `SELECT * FROM ${table} ORDER BY 1, 2, 3`);
    expect(rows).not.toEqual([]);
    expect([table, queryStore(rebuilt, `SELECT * FROM ${table} ORDER BY 1, 2, 3`)]).toEqual([table, rows]);
  }
  const listed = await bench(['ls', 'findings', '--json', '--db', rebuilt], { cwd: folder });
  expect(OUTPUTS.findings.parse(JSON.parse(listed.stdout)).findings).toMatchObject([
    { id, acknowledged: true, owner: 'team-vision' },
  ]);
});
