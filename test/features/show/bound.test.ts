import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';

test('a cell says what limits it in its newest sweep, with evidence and advice', async () => {
  const env = { BENCH_DB: join(temporaryFolder(), 'bench.sqlite') };
  await bench(['import', join(FIXTURES, 'cpu-contended')], { env });
  const { stdout } = await bench(['show', 'resnet_small b1 graph'], { env });
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'bound by the host: GPU idle 49 % of the time, 49 % in 126 stalls between queries → keep other work off the CPUs',
  );
  const json = await bench(['show', 'resnet_small b1 graph', '--json'], { env });
  expect(OUTPUTS['show-cell'].parse(JSON.parse(json.stdout)).bound?.by).toBe('host');
});

test('what is explained below the table is in the table, at 60 columns, too', async () => {
  const env = { BENCH_DB: join(temporaryFolder(), 'bench.sqlite') };
  await bench(['import', join(FIXTURES, 'cpu-contended')], { env });
  for (const columns of ['60', '80', '120']) {
    const { stdout } = await bench(['show', 'latest'], { env: { ...env, COLUMNS: columns } });
    expect(stdout).toContain('  host-bound (4 runs, one of them): GPU idle');
    expect([columns, stdout.match(/^model .* bound by/m)]).toEqual([columns, expect.anything()]);
    expect([columns, stdout.match(/^resnet_.* host\b/gm)]).toHaveProperty([1, 'length'], 4);
  }
});

test('of sweeps that share a name an id is asked for', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  simulateNights(db, { cells: simulatedCells(1), nights: 2, repeats: 1, value: () => 1 });
  const store = new Database(db);
  store.exec("UPDATE sweeps SET name = 'guide'");
  store.close();
  const { stderr } = await bench(['show', 'guide', '--db', db]);
  expect(stderr).toBe('bench: guide is the name of several sweeps: take the id of one (`bench ls sweeps`)\n');
});
