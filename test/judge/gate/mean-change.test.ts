import { expect, test } from 'vitest';

import type { CellEvidence } from '../../../src/judge/gate/evidence.ts';
import { meanChange } from '../../../src/judge/gate/mean-change.ts';
import type { JudgedCell } from '../../../src/judge/gate/verdict.ts';
import { median } from '../../../src/statistics/median.ts';
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
  const runs = values.map((value) => [{ value }]);
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
    ciPercent: null,
    mdePercent: null,
    levels: null,
    runs: 1,
    referenceSweeps: 7,
    notes: [],
  }));
}

// numpy: sd = median(abs(diff(log(H)))) / (0.6745 sqrt(2)), t = sd**2 (1 + 1/7) / 16 with 0.37 * 7 degrees of freedom each,
// and what sweeps share; scipy.stats.t.ppf(0.975, df)
test('the newest values over the levels before them, with an interval from their histories', () => {
  const mean = meanChange(judgedOf(NOW), EVIDENCE, 8);
  expect(mean).toMatchObject({ cells: 4, leftOut: 0 });
  expect(mean?.changePercent).toBeCloseTo(1.21457399, 7);
  expect(mean?.ciPercent?.[0]).toBeCloseTo(0.93658417, 5);
  expect(mean?.ciPercent?.[1]).toBeCloseTo(1.49332943, 5);
});

test('a cell that failed is left out', () => {
  expect(meanChange(judgedOf([...NOW.slice(0, 3), null]), EVIDENCE, 8)).toMatchObject({ cells: 3, leftOut: 1 });
});

test('the first sweep has no level to compare with', () => {
  const first = judgedOf(NOW).map((cell) => ({ ...cell, before: null }));
  expect(meanChange(first, EVIDENCE, 1)).toBeNull();
});

test('two sweeps of one run each have no interval', () => {
  const two = PAST.flatMap((past, index) => evidenceOf([past[0] ?? 0, NOW[index] ?? 0], index));
  expect(meanChange(judgedOf(NOW), two, 2)).toMatchObject({ ciPercent: null, cells: 4 });
});
