import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';

/** Sweeps of cells whose GPU time stays; from the last one on the host slows some of them down. */
async function hostSlows(cells: number, slowed: number, repeats: number) {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const random = normals(7);
  simulateNights(db, {
    cells: simulatedCells(cells),
    nights: 2,
    repeats,
    value: (cell) => (1 + cell) * Math.exp(0.001 * random()),
    figures: (cell, night) => {
      const isSlow = night === 1 && cell < slowed;
      const qps = ((isSlow ? 720 : 900) / (1 + cell)) * Math.exp(0.001 * random());
      return { qps, boundBy: isSlow ? 'host' : 'compute' };
    },
  });
  const compared = await bench(['compare', 'latest~1', 'latest', '--db', db, '--json']);
  const checked = await bench(['check', '--db', db, '--json']);
  return {
    codes: [compared.code, checked.code],
    compared: OUTPUTS.compare.parse(JSON.parse(compared.stdout)),
    checked: OUTPUTS.check.parse(JSON.parse(checked.stdout)).series[0]?.cells ?? [],
    text: (await bench(['compare', 'latest~1', 'latest', '--db', db])).stdout,
  };
}

test('a cell that only the host slows down is slower in throughput, in compare and in check', async () => {
  const { checked, codes, compared } = await hostSlows(3, 1, 3);
  expect(codes).toEqual([1, 1]);
  expect(compared.counts).toMatchObject({ slower: 1, same: 2 });
  const [cell] = compared.cells;
  expect(cell).toMatchObject({ verdict: 'slower', metric: 'throughputQps' });
  expect(cell?.changePercent).toBeCloseTo(-20, 0);
  expect(cell?.reasons.join()).toContain('now bound by the host, before by GPU compute');
  expect(checked.map(({ metric, verdict }) => [metric, verdict]).toSorted()).toEqual([
    ['gpuComputeMs', 'same'],
    ['gpuComputeMs', 'same'],
    ['throughputQps', 'slower'],
  ]);
  expect(new Set(compared.geometricMeans.map(({ metric }) => metric))).toEqual(new Set(['gpuComputeMs']));
});

test('where all cells share it, it is one finding that names throughput', async () => {
  const { codes, compared, text } = await hostSlows(12, 12, 3);
  expect(codes).toEqual([1, 1]);
  expect(compared.shift).toMatchObject({ metric: 'throughputQps', sharing: 12, verdict: 'slower' });
  expect(text).toMatch(/Common shift of -20\.\d % in throughput, which fits all 12 cells: a regression by itself/);
});
