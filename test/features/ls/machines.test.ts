import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';

const CELLS = 12;

/** A sweep of each of ten machines, node7 4 % slower and with less power; the GPU of node10 to node12 is another model. */
function simulateFleet(path: string, from: number, nodes: number): void {
  const normal = normals(9);
  simulateNights(path, {
    cells: simulatedCells(CELLS),
    after: from,
    nights: nodes,
    repeats: 3,
    machine: (node) => ({ host: `node${node}`, powerLimitW: node === 7 ? 600 : 700 }),
    gpuName: (node) => (node < 10 ? 'NVIDIA H100' : 'NVIDIA H200'),
    value: (cell, node) => (1 + cell) * (node === 7 ? 1.04 : node < 10 ? 1 : 0.8) * (1 + 1e-3 * normal()),
  });
}

describe('bench ls machines', () => {
  let db: string;
  const machines = async (...args: string[]) => bench(['ls', 'machines', ...args, '--db', db]);
  const listed = async (...args: string[]) =>
    OUTPUTS.machines.parse(JSON.parse((await machines('--json', ...args)).stdout));

  beforeAll(() => {
    db = join(sharedFolder(), 'bench.sqlite');
    simulateFleet(db, 0, 13);
  });

  test('names the machine that is slower than its twins, and what it has otherwise', async () => {
    const { code, stdout } = await machines();
    expect(code).toBe(0);
    expect(stdout.split('\n\n')[0]?.replace(/\s+/g, ' ')).toBe(
      'node7 is 4.0 % slower than its 9 twins in 12 of 12 cells (NVIDIA H100); power limit 600 W, its twins 700 W',
    );
    const { machines: rows } = await listed();
    expect(rows.filter(({ standing }) => standing === 'slower').map(({ name, twins }) => [name, twins])).toEqual([
      ['node7', 9],
    ]);
    // Three of the other model: each has two twins only.
    expect(rows.filter(({ gpuName }) => gpuName === 'NVIDIA H200').map(({ standing }) => standing)).toEqual([
      null,
      null,
      null,
    ]);
  });

  test('--cells: every cell by GPU model, the median of its machines', async () => {
    const { stdout } = await machines('--cells');
    expect(stdout).toMatch(/^vit +fp16 +b1 +0\.9998 ms ×10 +0\.80\d+ ms ×3$/m);
    expect(stdout).toContain('; ×N: of N machines their median');
    const narrow = await bench(['ls', 'machines', '--cells', '--db', db], { env: { COLUMNS: '40' } });
    expect(narrow.stdout.split('\n').filter((line) => [...line].length > 40)).toEqual([]);
    expect((await machines('--filter', 'batch=99')).stdout).toBe(
      'no run that the filter lets through names its GPU and its machine: `bench run` stores both\n',
    );
    const { cells } = await listed();
    expect(cells).toHaveLength(CELLS);
    const [first] = cells;
    expect(first?.gpus.map(({ gpuName, machines: number }) => [gpuName, number])).toEqual([
      ['NVIDIA H100', 10],
      ['NVIDIA H200', 3],
    ]);
    expect(first?.gpus[1]?.value).toBeCloseTo(1.6, 2);
  });

  test('by throughput, where more is better, it is the same machine', async () => {
    const { headlines } = await listed('--metric', 'throughput');
    expect(headlines).toEqual([expect.stringMatching(/^node7 is 4\.\d % slower than its 9 twins in 12 of 12 cells/)]);
  });

  test('--since leaves out machines that were measured before', async () => {
    const { machines: rows } = await listed('--since', '3d');
    expect(rows.map(({ name }) => name)).toEqual(['node9', 'node10', 'node11', 'node12']);
  });

  test('stores of several machines, merged, are one fleet', async () => {
    const folder = temporaryFolder();
    const [a, b] = [join(folder, 'a.sqlite'), join(folder, 'b.sqlite')];
    simulateFleet(a, 0, 5);
    simulateFleet(b, 5, 5);
    await bench(['db', 'merge', b, '--db', a]);
    const { stdout } = await bench(['ls', 'machines', '--db', a, '--json']);
    const { headlines } = OUTPUTS.machines.parse(JSON.parse(stdout));
    expect(headlines).toEqual([expect.stringMatching(/^node7 is 4\.\d % slower than its 9 twins/)]);
  });
});

test('recorded runs of two GPU models: no twins, and each cell by GPU', async () => {
  const cwd = sharedFolder();
  const matrix = join(ROOT, 'matrices', 'two-gpus.yaml');
  for (const set of ['h100', 'h200']) await bench(['run', matrix, '--replay', set, '-q'], { cwd });
  const { stdout } = await bench(['ls', 'machines', '--cells'], { cwd });
  expect(stdout.replace(/\s+/g, ' ')).toContain('2 machines, 2 GPU models: none can be judged');
  // From the GPU compute medians that the logs print.
  expect(stdout).toMatch(/^resnet +fp16 +b8 +0\.2087 ms +0\.2212 ms$/m);
});

test('a store without such runs says so', async () => {
  const cwd = temporaryFolder();
  const { code, stderr } = await bench(['ls', 'machines'], { cwd });
  expect([code, stderr.split('\n').length]).toEqual([2, 2]);
});
