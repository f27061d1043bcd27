import { describe, expect, test } from 'vitest';

import { compareCells, type TwoSides } from '../../src/judge/compare/compare-cells.ts';
import { detectableErrors, varianceReserve } from '../../src/judge/run-noise.ts';
import { seededRandom } from '../../src/matrix/plan/order.ts';
import { isCalled } from '../../src/records/verdict.ts';
import { median } from '../../src/statistics/order-statistics.ts';
import { typicalVariance, variancePrior } from '../../src/statistics/variance-prior.ts';
import { normals } from '../support/simulated-store.ts';

const STEADY: readonly [number, number] = [0.003, 0.003];
const PLAIN = {
  cells: 40,
  /** Of each side of a cell. */
  runs: 5,
  /** Least and largest standard deviation of a run, as a log; evenly spread in logarithms. */
  scatter: STEADY,
  /** Standard deviation of a sweep of a cell, as a log. */
  sweeps: 0,
  /** Whether 24 earlier sweeps are known, which differ as these two do. */
  hasPast: false,
  /** How many cells change, from the first on, and by how much. */
  changed: 0,
  percent: 0,
};

/** Matrices with normal noise from a seed. */
function simulate(matrices: number, seed: number, simulation: Partial<typeof PLAIN>) {
  const { cells, runs, scatter, sweeps, hasPast, changed, percent } = { ...PLAIN, ...simulation };
  const [random, normal] = [seededRandom(seed), normals(seed + 1000)];
  return Array.from({ length: matrices }, () =>
    Array.from({ length: cells }, (_, place) => {
      const sigma = scatter[0] * (scatter[1] / scatter[0]) ** random();
      const draw = (count: number, level: number): number[] =>
        Array.from({ length: count }, () => Math.exp(level + sigma * normal()));
      const sweep = (shift = 0): number[] => draw(runs, Math.log1p(shift / 100) + sweeps * normal());
      // A sweep is the median of its runs, widened to the scatter of one run as `bench compare` does.
      const earlier = (): number => Math.exp(Math.sqrt(runs) * (median(sweep().map(Math.log)) ?? 0));
      /** The same cell, measured anew and changed. */
      const again = (shift: number): TwoSides => ({
        cellKey: `c${place}`,
        base: sweep(),
        head: sweep(shift),
        past: Array.from({ length: hasPast ? 24 : 0 }, earlier),
        betterIs: 'lower',
      });
      return { ...again(place < changed ? percent : 0), sigma, again, more: (count: number) => draw(count, 0) };
    }),
  );
}

function percentOf<Item>(items: readonly Item[], isOne: (item: Item) => boolean): number {
  return (100 * items.filter(isOne).length) / items.length;
}

/** How many matrices have a called cell, and how many intervals of 95 % have 0 in them, in percent. */
function unchanged(matrices: number, seed: number, simulation: Partial<typeof PLAIN>, leastSigma = 0) {
  const judged = simulate(matrices, seed, simulation).map((sides) =>
    compareCells(sides).cells.map((cell, place) => ({ ...cell, sigma: sides[place]?.sigma ?? 0 })),
  );
  return {
    alarmed: percentOf(judged, (cells) => cells.some(isCalled)),
    coverage: percentOf(
      judged.flat().filter(({ sigma }) => sigma >= leastSigma),
      ({ ciPercent }) => ciPercent !== null && ciPercent[0] <= 0 && 0 <= ciPercent[1],
    ),
  };
}

/** Quietest and noisiest cell of a mixed matrix. */
const MIXED = [0.001, 0.02] as const;

/** From seeds, and wide enough that only another rule leaves them. */
describe('verdicts on simulated matrices', () => {
  test.each([0.5, 0.6, 0.75])('a change in %f of the cells is called, and no other cell', (share) => {
    for (const [percent, verdict] of [
      [3, 'slower'],
      [-3, 'faster'],
    ] as const) {
      const changed = 40 * share;
      const judged = simulate(60, 21, { changed, percent }).map((sides) => compareCells(sides).cells);
      const called = judged.flatMap((cells) => cells.slice(0, changed));
      expect(percentOf(called, (cell) => cell.verdict === verdict)).toBeGreaterThanOrEqual(99);
      expect(
        percentOf(
          judged.flatMap((cells) => cells.slice(changed)),
          isCalled,
        ),
      ).toBeLessThanOrEqual(1);
    }
  });

  test.each([
    [40, 0.01, 10, 2, 'slower'],
    [40, 0.01, 5, -2, 'faster'],
    [20, 0.003, 3, 1, 'slower'],
  ] as const)(
    'what nights differ by is not read from a change in half: %i cells, sigma %f, %i runs, %f %%',
    (cells, sigma, runs, percent, verdict) => {
      const matrices = simulate(150, 29, { cells, runs, scatter: [sigma, sigma], changed: cells / 2, percent });
      const [found = 0, ofOneNight = 0] = [false, true].map((sameSweep) =>
        matrices
          .flatMap((sides) => compareCells(sides, { sameSweep }).cells.slice(0, cells / 2))
          .reduce((sum, cell) => sum + Number(cell.verdict === verdict), 0),
      );
      expect(found / ofOneNight).toBeGreaterThan(0.82);
    },
  );

  test.each([
    [40, 0.003, 0.002, false],
    [40, 0.003, 0.002, true],
    [12, 0.001, 0.003, true],
  ])(
    'no alarms and intervals of 95 %%: %i cells, sigma %f, nights %f, a history: %s',
    (cells, sigma, sweeps, hasPast) => {
      const found = unchanged(60, 30, { cells, scatter: [sigma, sigma], sweeps, hasPast });
      expect(found.alarmed).toBeLessThanOrEqual(10);
      expect(found.coverage).toBeGreaterThan(93);
      expect(found.coverage).toBeLessThan(98);
    },
  );

  test('a slow-down of all cells is told in every matrix', () => {
    for (const sides of simulate(15, 23, { changed: 40, percent: 3 })) {
      const { cells, shift } = compareCells(sides);
      expect([cells.filter(isCalled), shift?.verdict]).toEqual([[], 'slower']);
    }
  });

  test.each([
    [5, 3, false],
    [40, 3, false],
    [40, 5, true],
  ])('of %i cells with %i runs what could hide is found nine times in ten', (cells, runs, hasPast) => {
    const found = simulate(40, 24, { cells, runs, hasPast, scatter: MIXED }).flatMap((sides) =>
      compareCells(sides)
        .cells.slice(0, 5)
        .map(({ mdePercent }, place) => {
          const changed = sides[place]?.again(mdePercent ?? 0);
          const after = compareCells(sides.map((side, other) => (other === place ? (changed ?? side) : side)));
          return after.cells[place]?.verdict;
        }),
    );
    const percent = percentOf(found, (verdict) => verdict === 'slower');
    expect(percent).toBeGreaterThan(75);
    expect(percent).toBeLessThan(97);
  });

  test('noisy cells of a mixed matrix keep their intervals', () => {
    expect(unchanged(60, 26, { runs: 3, scatter: MIXED }, 0.01).coverage).toBeGreaterThan(91);
  });

  test('a true change of 2 % is hardly ever the same', () => {
    for (const runs of [3, 5, 10]) {
      const matrices = simulate(20, 27, { runs, scatter: [0.002, 0.02], changed: 8, percent: 2 });
      const changed = matrices.flatMap((sides) => compareCells(sides).cells.slice(0, 8));
      expect(percentOf(changed, ({ verdict }) => verdict === 'same')).toBeLessThan(5);
    }
  });

  test('the runs that an unclear cell asks for settle it four times in five', () => {
    const settled = simulate(15, 28, { runs: 3, scatter: [0.003, 0.02] }).flatMap((sides) => {
      const before = compareCells(sides).cells;
      const longer = sides.map((side, place) => {
        const more = before[place]?.moreRunsNeeded ?? 0;
        return { ...side, base: [...side.base, ...side.more(more)], head: [...side.head, ...side.more(more)] };
      });
      return compareCells(longer).cells.filter((_, place) => (before[place]?.moreRunsNeeded ?? 0) > 0);
    });
    expect(percentOf(settled, ({ verdict }) => verdict !== 'unclear')).toBeGreaterThan(75);
  });
});

describe('the change that is found nine times in ten', () => {
  test('is the limit and 1.28 errors more where the error is known', () => {
    expect(detectableErrors(3, 1e9)).toBeCloseTo(3 + 1.2816, 4);
  });

  test.each([
    // scipy 1.x: brentq(lambda d: nct.sf(limit, df, d) - 0.9, 0, 30)
    [2.306, 8, 3.7124],
    [3.355, 8, 4.9233],
    [4.587, 6, 6.5267],
    [2.086, 20, 3.4093],
  ])('limit %f, %i degrees: near the noncentral t', (limit, degrees, exact) => {
    expect(detectableErrors(limit, degrees) / exact).toBeGreaterThan(0.97);
    expect(detectableErrors(limit, degrees) / exact).toBeLessThan(1.03);
  });

  test('a variance is larger than its estimate by so much in one case of five', () => {
    // scipy: df / chi2.ppf(0.2, df)
    expect(varianceReserve(4) / 2.426).toBeCloseTo(1, 1);
    expect(varianceReserve(20) / 1.3719).toBeCloseTo(1, 1);
  });
});

describe('what the variances of cells say of another', () => {
  const sampled = (sigmas: readonly number[]) => {
    const normal = normals(31);
    return sigmas.map((sigma) => {
      const squares = Array.from({ length: 4 }, () => (sigma * normal()) ** 2);
      return { variance: squares.reduce((sum, one) => sum + one, 0) / 4, degrees: 4 };
    });
  };

  test('much where they are alike, little where they differ by factors', () => {
    const similar = variancePrior(sampled(Array.from({ length: 60 }, () => 0.003)));
    const apart = variancePrior(sampled(Array.from({ length: 60 }, (_, i) => 0.001 * 20 ** (i / 59))));
    expect(similar?.degrees).toBeGreaterThan(8);
    expect(apart?.degrees).toBeLessThan(3);
    expect(Math.sqrt(similar?.variance ?? 0)).toBeCloseTo(0.003, 3);
  });

  test('nothing from fewer than three', () => {
    expect([variancePrior(sampled([0.001, 0.002])), typicalVariance([])]).toEqual([null, null]);
  });
});
