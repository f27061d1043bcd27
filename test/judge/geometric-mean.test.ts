import { describe, expect, test } from 'vitest';

import { compareCells } from '../../src/judge/compare/compare-cells.ts';
import { type CellRatio, geometricMean, sharedNoise } from '../../src/judge/geometric-mean.ts';

import { pastValues } from '../../src/judge/run-noise.ts';
import { median } from '../../src/statistics/order-statistics.ts';
import { normals } from '../support/simulated-store.ts';

const SHARED = { variance: 1.25e-6, degrees: 10 };

const CELLS: readonly CellRatio[] = [
  { logRatio: Math.log(1.02), noise: { variance: 4e-6, degrees: 4 } },
  { logRatio: Math.log(1.05), noise: { variance: 9e-6, degrees: 6 } },
  { logRatio: Math.log(0.99), noise: { variance: 1e-6, degrees: 8 } },
];

describe('the geometric mean of three cells', () => {
  // scipy.stats.gmean([1.02, 1.05, 0.99]); terms t = [4e-6, 9e-6, 1e-6] / 9 and 1.25e-6; V = sum(t),
  // df = V**2 / sum(t**2 / [4, 6, 8, 10]); scipy.stats.t.ppf(0.975, df) * sqrt(V)
  test('has the interval of the noise of its cells and of what they share', () => {
    const mean = geometricMean(CELLS, SHARED);
    expect(mean?.changePercent).toBeCloseTo(1.970579750314954, 10);
    expect(mean?.ciPercent?.[0]).toBeCloseTo(1.6160584923447137, 8);
    expect(mean?.ciPercent?.[1]).toBeCloseTo(2.326337873050669, 8);
  });

  // As above; the first two variances are one term with 4 degrees of freedom.
  test('has a wider one where the noise of two is that of other cells', () => {
    const mean = geometricMean(
      CELLS.map((cell, index) => ({ ...cell, isBorrowed: index < 2 })),
      SHARED,
    );
    expect(mean?.ciPercent?.[0]).toBeCloseTo(1.5976430114398623, 8);
    expect(mean?.ciPercent?.[1]).toBeCloseTo(2.344885436412472, 8);
  });
});

test('cells without both sides are counted, and are no part of it', () => {
  const without: CellRatio = { logRatio: null, noise: null };
  const mean = geometricMean([without, ...CELLS, without], SHARED);
  expect(mean).toEqual({ ...geometricMean(CELLS, SHARED), cells: 3, leftOut: 2 });
});

test('a cell whose noise nothing says takes the interval away, and keeps the mean', () => {
  const mean = geometricMean([...CELLS, { logRatio: 0, noise: null }], SHARED);
  expect(mean).toMatchObject({ ciPercent: null, cells: 4 });
  expect(mean?.changePercent).toBeCloseTo(Math.expm1(Math.log(1.02 * 1.05 * 0.99) / 4) * 100, 10);
});

test('no cell, no mean', () => {
  expect(geometricMean([], SHARED)).toBeNull();
  expect(geometricMean([{ logRatio: Number.NaN, noise: null }], SHARED)).toBeNull();
});

describe('what sweeps do to all cells at once', () => {
  test('is a stated prior without a history: 0.1 % a sweep', () => {
    expect(sharedNoise([])).toEqual({ variance: 2e-6, degrees: 4 });
  });

  // numpy: c = median(D, axis 0) of D = diff(log(H)); 1.4826 median(abs(c)); see the docstring
  test('is known from the median change from sweep to sweep', () => {
    const histories = [
      [1, 1.01, 1, 1.02, 1],
      [2, 2.02, 2.01, 2.04, 2],
      [3, 3.04, 3, 3.06, 3.01],
      [4, 4.03, 4.01, 4.09, 4],
    ].map(historyOf);
    expect(sharedNoise(histories).degrees).toBe(5);
    expect(sharedNoise(histories).variance).toBeCloseTo(0.00019494106189447803, 12);
  });
});

function historyOf(values: readonly number[]) {
  return { places: [...values.keys()], values: Float64Array.from(values) };
}

/** Percent: noise of a run, of a cell's sweep, and of a sweep in all cells. */
type Machine = { readonly run: number; readonly cell: number; readonly shared: number };

const KEYS = Array.from({ length: 24 }, (_, cell) => cell.toString(16).padStart(32, '0'));

/** Share of simulated comparisons whose interval holds the true mean; every fourth cell is 5 % slower. */
function coverage({ run, cell, shared }: Machine, cells: number, sweeps: number, seed: number): number {
  const normal = normals(seed);
  const times = 200;
  let held = 0;
  for (let time = 0; time < times; time += 1) {
    const keys = KEYS.slice(0, cells);
    const effects = Array.from({ length: sweeps + 2 }, () => (shared / 100) * normal());
    const steps = keys.map((_, index) => (index % 4 === 0 ? Math.log(1.05) : 0));
    const logs = keys.map((_, index) =>
      effects.map((effect, sweep) => {
        const own = (cell / 100) * normal();
        const step = sweep > sweeps ? (steps[index] ?? 0) : 0;
        return Array.from({ length: 3 }, () => step + effect + own + (run / 100) * normal());
      }),
    );
    const histories = logs.map((own) => historyOf(own.slice(0, sweeps).map((runs) => Math.exp(median(runs) ?? 0))));
    const { ratios } = compareCells(
      keys.map((cellKey, index) => {
        const [base = [], head = []] = (logs[index] ?? []).slice(-2).map((runs) => runs.map(Math.exp));
        const history = histories[index] ?? historyOf([]);
        const past = pastValues({ history, runs: history.places.map(() => [1, 2, 3]) }, base);
        return { cellKey, base, head, past, betterIs: 'lower' };
      }),
    );
    const [low = 0, high = 0] = geometricMean([...ratios.values()], sharedNoise(histories))?.ciPercent ?? [];
    const truth = Math.expm1(steps.reduce((sum, step) => sum + step, 0) / cells) * 100;
    if (low <= truth && truth <= high) held += 1;
  }
  return held / times;
}

test.each([
  ['4 cells, 24 sweeps before', { run: 0.4, cell: 0.2, shared: 0.1 }, 4, 24, 1],
  ['12 cells, 24 sweeps before', { run: 0.4, cell: 0.2, shared: 0.1 }, 12, 24, 2],
  ['24 cells, 24 sweeps before', { run: 0.3, cell: 0.1, shared: 0.2 }, 24, 24, 3],
  ['24 cells, nothing before', { run: 0.4, cell: 0.1, shared: 0.1 }, 24, 0, 4],
] as const)('the interval holds the true mean about 95 times of 100: %s', (_, machine, cells, sweeps, seed) => {
  const share = coverage(machine, cells, sweeps, seed);
  // Three standard errors, sqrt(0.95 x 0.05 / 200), to both sides.
  expect(Math.abs(share - 0.95)).toBeLessThan(0.0463);
});
