import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';

const CELLS = 12;

/** A sweep of each machine; the GPU of node10 to node12 is another model. */
function simulateFleet(path: string): void {
  simulateNights(path, {
    cells: simulatedCells(CELLS),
    nights: 13,
    repeats: 3,
    machine: (node) => ({ host: `node${node}` }),
    gpuName: (node) => (node < 10 ? 'NVIDIA H100' : 'NVIDIA H200'),
    value: (cell, node) => (1 + cell) * (node < 10 ? 1 : 0.8),
  });
}

describe('bench ls machines', () => {
  const db = join(sharedFolder(), 'bench.sqlite');
  const machines = async (...args: string[]) => bench(['ls', 'machines', ...args, '--db', db]);
  const listed = async (...args: string[]) =>
    OUTPUTS.machines.parse(JSON.parse((await machines('--json', ...args)).stdout));

  beforeAll(() => simulateFleet(db));

  test('lists every GPU of every host that measured', async () => {
    const { code, stdout } = await machines();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^node7 +NVIDIA H100 +10\.6\.0 +\S+ +1 +36 +2\d{3}-\d\d-\d\d$/m);
    const { machines: rows } = await listed();
    expect([...Map.groupBy(rows, ({ gpuName }) => gpuName)].map(([gpuName, own]) => [gpuName, own.length])).toEqual([
      ['NVIDIA H100', 10],
      ['NVIDIA H200', 3],
    ]);
    expect(rows[0]).toMatchObject({ name: 'node0', host: 'node0', sweeps: 1, measured: 3 * CELLS, others: 0 });
  });

  test('--filter and --since choose; a filter that lets nothing through is named', async () => {
    expect((await listed('--filter', 'batch=1')).machines.map(({ measured }) => measured)).toEqual(Array(13).fill(3));
    const line = 'no such run names its GPU and its machine: `bench run` stores both\n';
    expect((await machines('--filter', 'batch=99')).stdout).toBe(line);
    const { machines: rows } = await listed('--since', '3d');
    expect(rows.map(({ name }) => name)).toEqual(['node9', 'node10', 'node11', 'node12']);
  });
});
