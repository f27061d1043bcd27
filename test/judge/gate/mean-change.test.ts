import { expect, test } from 'vitest';

import type { CellEvidence, JudgedCell } from '../../../src/judge/gate/evidence.ts';
import { meanChange } from '../../../src/judge/gate/judged-cells.ts';
import { median } from '../../../src/statistics/order-statistics.ts';
import { simulatedCells } from '../../support/simulated-store.ts';

const PAST = [
  [1, 1.002, 1, 1.003, 1.001, 1, 1.002],
  [2, 2.004, 2.003, 2, 2.001, 2.005, 2],
  [3, 3.006, 3, 3.003, 3.009, 3, 3],
  [4, 4, 4.01, 4.004, 4, 4.008, 4],
];
const NOW = [1.05, 2.002, 3, 4];

const CELLS = simulatedCells(5);

function evidenceOf(values: readonly number[], index: number): CellEvidence[] {
  const [cell] = CELLS.slice(index);
  if (cell === undefined) return [];
  const history = { nights: [...values.keys()], values: Float64Array.from(values) };
  const runs = values.map((value) => [value]);
  return [
    { cell, metrics: [{ metric: 'gpuComputeMs', history, runs }], environmentIds: [], isPlanned: true, failures: [] },
  ];
}

const EVIDENCE = PAST.flatMap((past, index) => evidenceOf([...past, NOW[index] ?? 0], index));

function judgedOf(now: readonly (number | null)[]): JudgedCell[] {
  return EVIDENCE.map(({ cell }, index) => ({
    cellKey: cell.key,
    verdict: 'same',
    reason: null,
    metric: 'gpuComputeMs',
    before: median(PAST[index] ?? []),
    now: now[index] ?? null,
    changePercent: null,
    ciPercent: [-0.2, 0.4],
    mdePercent: null,
    levels: null,
    runs: 1,
    referenceSweeps: 7,
    notes: [],
  }));
}

// numpy: sd = log(1.004 / 0.998) / 2 / 1.96 of each cell, and what sweeps share with 5.5 degrees of freedom;
// scipy.stats.t.ppf(0.975, df)
test('the newest values over the reference levels, with an interval from those of the cells', () => {
  const mean = meanChange(judgedOf(NOW), EVIDENCE);
  expect(mean).toMatchObject({ cells: 4, leftOut: 0 });
  expect(mean?.changePercent).toBeCloseTo(1.21457399, 7);
  expect(mean?.ciPercent?.[0]).toBeCloseTo(0.98943781, 5);
  expect(mean?.ciPercent?.[1]).toBeCloseTo(1.44021207, 5);
});

test('a cell that failed is left out', () => {
  expect(meanChange(judgedOf([...NOW.slice(0, 3), null]), EVIDENCE)).toMatchObject({ cells: 3, leftOut: 1 });
});
