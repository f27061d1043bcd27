import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';

test.each([
  ['Orin', /share their memory here/],
  ['NVIDIA H200', /look at the PCIe link$/],
])('the advice to a copy-bound cell on %s', async (gpuName, advice) => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  simulateNights(db, {
    cells: simulatedCells(1),
    nights: 1,
    repeats: 2,
    value: () => 1,
    gpuName: () => gpuName,
    figures: () => ({ boundBy: 'h2d' }),
  });
  const sweep = await bench(['show', 'latest', '--json', '--db', db]);
  expect(OUTPUTS.run.parse(JSON.parse(sweep.stdout)).cells[0]?.bound?.advice).toMatch(advice);
  const [row] = queryStore<{ readonly id: string }>(db, `SELECT run_id AS id FROM runs WHERE role = 'timed'`);
  const run = await bench(['show', row?.id ?? '', '--json', '--db', db]);
  expect(run.stderr).toBe('');
  expect(OUTPUTS['show-run'].parse(JSON.parse(run.stdout)).bound?.advice).toMatch(advice);
});
