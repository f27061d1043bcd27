import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { imageCell } from '../../support/image-cell.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';

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

test('advice names its cell, and a CUDA graph that gains nothing there is not advised', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const [slow, fast] = [1.25, 1.0002];
  const cells = ['vit', 'resnet'].flatMap((model) =>
    [true, false].map((cudaGraph) => imageCell({ model, precision: 'fp16', batch: 1, cudaGraph })),
  );
  simulateNights(db, {
    cells,
    nights: 1,
    repeats: 2,
    value: (cell) => [1, slow, 1, fast][cell] ?? null,
    figures: (cell) => ({ boundBy: cell % 2 === 0 ? 'compute' : 'host' }),
  });
  const store = new Database(db);
  store.exec('UPDATE measurements SET enqueue_ratio = 0.95, gpu_busy = 0.9');
  store.close();
  const shown = async (what: string): Promise<string> =>
    (await bench(['show', what, '--db', db])).stdout.replaceAll(/\s+/g, ' ');
  const helps = 'use a CUDA graph or a larger batch';
  const gainsNothing = 'use a larger batch: a CUDA graph gains nothing here';
  expect(await shown('latest')).toContain(`→ vit fp16 1x3x224x224 no-graph: ${helps} bound by the host`);
  expect(await shown('latest')).toContain(`→ resnet fp16 1x3x224x224 no-graph: ${gainsNothing}`);
  expect(await shown('vit no-graph')).toContain(`→ ${helps}`);
  expect(await shown('resnet no-graph')).toContain(`→ ${gainsNothing}`);
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
