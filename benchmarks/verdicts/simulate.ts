import { compareCells, type TwoSides } from '../../src/judge/compare/compare-cells.ts';
import type { CellComparison } from '../../src/records/verdict.ts';
import { median } from '../../src/statistics/order-statistics.ts';
import { Random } from '../detection/random.ts';

/** Quietest and noisiest cell of a mixed matrix, as the standard deviation of a run. */
const MIXED = [0.001, 0.02] as const;
const PAST_NIGHTS = 24;

function runs(count: number, level: number, sigma: number, random: Random): number[] {
  return Array.from({ length: count }, () => Math.exp(level + sigma * random.normal()));
}

/** Values of earlier nights, each the median of as many runs, widened to the scatter of a run as `bench compare` does. */
function pastOf(count: number, sigma: number, nightSigma: number, random: Random): number[] {
  return Array.from({ length: PAST_NIGHTS }, () => {
    const level = nightSigma === 0 ? 0 : nightSigma * random.normal();
    const night = median(runs(count, level, sigma, random).map(Math.log)) ?? 0;
    return Math.exp(Math.sqrt(count) * night);
  });
}

const isCalled = ({ verdict }: CellComparison): boolean => verdict === 'slower' || verdict === 'faster';

function percent(count: number, of: number): number {
  return of === 0 ? Number.NaN : (100 * count) / of;
}

export interface SharedChange {
  /** Of the changed cells, in percent: called the way they changed; of the others: called at all. */
  readonly changedCalled: number;
  readonly othersCalled: number;
  /** Matrices in which anything is called the way of the change, or a common shift is. */
  readonly alarmed: number;
  /** Of the changed cells that are called without the error that nights add, those that are called with it, in percent. */
  readonly kept: number;
}

export interface ManyCells {
  readonly cells: number;
  /** Of a run. */
  readonly sigma: number;
  /** Runs a side. */
  readonly count: number;
}

/** A change in a share of the cells, no history and no night effect. */
export function sharedChange(
  changePercent: number,
  share: number,
  matrices: number,
  seed: number,
  { cells: many, sigma, count }: ManyCells = { cells: 40, sigma: 0.003, count: 5 },
): SharedChange {
  const random = new Random(seed);
  const changed = Math.round(many * share);
  const verdict = changePercent > 0 ? 'slower' : 'faster';
  const foundIn = (cells: readonly CellComparison[]): number =>
    cells.slice(0, changed).filter((cell) => cell.verdict === verdict).length;
  let [called, plain, others, alarmed] = [0, 0, 0, 0];
  for (let matrix = 0; matrix < matrices; matrix += 1) {
    const sides = Array.from({ length: many }, (_, cell): TwoSides => ({
      cellKey: `c${cell}`,
      base: runs(count, 0, sigma, random),
      head: runs(count, cell < changed ? Math.log1p(changePercent / 100) : 0, sigma, random),
      betterIs: 'lower',
    }));
    const { cells, shift } = compareCells(sides);
    called += foundIn(cells);
    plain += foundIn(compareCells(sides, { sameNight: true }).cells);
    others += cells.slice(changed).filter(isCalled).length;
    const isFound = cells.some((cell) => cell.verdict === verdict) || shift?.verdict === verdict;
    alarmed += isFound ? 1 : 0;
  }
  return {
    changedCalled: percent(called, matrices * changed),
    othersCalled: percent(others, matrices * (many - changed)),
    alarmed: percent(alarmed, matrices),
    kept: percent(called, plain),
  };
}

/**
 * How often a change exactly as large as the detectable one is found, in percent: the size is read from one
 * comparison without any change, and found or not in another of the same matrix in which one cell has it.
 */
export function power(cells: number, count: number, hasHistory: boolean, trials: number, seed: number): number {
  const random = new Random(seed);
  const perMatrix = Math.min(cells, 5);
  let [found, tried] = [0, 0];
  while (tried < trials) {
    const sigmas = Array.from({ length: cells }, () => random.logBetween(...MIXED));
    const side = (cell: number, change: number): TwoSides => {
      const sigma = sigmas[cell] ?? 0;
      return {
        cellKey: `c${cell}`,
        base: runs(count, 0, sigma, random),
        head: runs(count, change, sigma, random),
        past: hasHistory ? pastOf(count, sigma, 0, random) : [],
        betterIs: 'lower',
      };
    };
    const unchanged = sigmas.map((_, cell) => side(cell, 0));
    const before = compareCells(unchanged).cells;
    for (let cell = 0; cell < perMatrix && tried < trials; cell += 1, tried += 1) {
      const change = Math.log1p((before[cell]?.mdePercent ?? 0) / 100);
      const after = compareCells(unchanged.with(cell, side(cell, change))).cells;
      found += after[cell]?.verdict === 'slower' ? 1 : 0;
    }
  }
  return percent(found, trials);
}

export interface Unchanged {
  readonly falsePer1000: number;
  readonly alarmed: number;
  /** Of the 95 % intervals. */
  readonly coverage: number;
  /** Of those of the cells with 1 % of noise and more. */
  readonly noisyCoverage: number;
}

/**
 * Two nights without a change.
 * @param sigma of a run; null for a mixed matrix
 * @param hasHistory whether 24 earlier nights are known, which differ as these two do
 */
export function unchangedNights(
  sigma: number | null,
  nightSigma: number,
  count: number,
  matrices: number,
  seed: number,
  hasHistory = false,
  many = 40,
): Unchanged {
  const random = new Random(seed);
  let [calls, alarmed, covered, noisy, noisyCovered] = [0, 0, 0, 0, 0];
  for (let matrix = 0; matrix < matrices; matrix += 1) {
    const sigmas = Array.from({ length: many }, () => sigma ?? random.logBetween(...MIXED));
    const { cells } = compareCells(
      sigmas.map((own, cell) => ({
        cellKey: `c${cell}`,
        base: runs(count, nightSigma * random.normal(), own, random),
        head: runs(count, nightSigma * random.normal(), own, random),
        past: hasHistory ? pastOf(count, own, nightSigma, random) : [],
        betterIs: 'lower',
      })),
    );
    const called = cells.filter(isCalled).length;
    calls += called;
    alarmed += called > 0 ? 1 : 0;
    for (const [cell, { ciPercent }] of cells.entries()) {
      const [low, high] = ciPercent ?? [1, -1];
      const isCovered = low <= 0 && 0 <= high;
      covered += isCovered ? 1 : 0;
      if ((sigmas[cell] ?? 0) < 0.01) continue;
      noisy += 1;
      noisyCovered += isCovered ? 1 : 0;
    }
  }
  return {
    falsePer1000: (1000 * calls) / (matrices * many),
    alarmed: percent(alarmed, matrices),
    coverage: percent(covered, matrices * many),
    noisyCoverage: percent(noisyCovered, noisy),
  };
}

/** Shares of the verdicts on a true change, in percent: 8 of 40 cells, sigma .2 to 2 %, no history. */
export function verdictsOn(
  changePercent: number,
  count: number,
  matrices: number,
  seed: number,
): Record<'slower' | 'unclear' | 'same', number> {
  const random = new Random(seed);
  const tally = { slower: 0, unclear: 0, same: 0 };
  for (let matrix = 0; matrix < matrices; matrix += 1) {
    const { cells } = compareCells(
      Array.from({ length: 40 }, (_, cell) => {
        const sigma = random.logBetween(0.002, 0.02);
        const change = cell < 8 ? Math.log1p(changePercent / 100) : 0;
        return {
          cellKey: `c${cell}`,
          base: runs(count, 0, sigma, random),
          head: runs(count, change, sigma, random),
          betterIs: 'lower',
        };
      }),
    );
    for (const { verdict } of cells.slice(0, 8)) {
      if (verdict === 'slower' || verdict === 'unclear' || verdict === 'same') tally[verdict] += 1;
    }
  }
  const share = (of: number): number => percent(of, matrices * 8);
  return { slower: share(tally.slower), unclear: share(tally.unclear), same: share(tally.same) };
}

/** How often the runs that an unclear cell asks for settle it, in percent: 40 unchanged cells, each its own number. */
export function settledByRuns(count: number, matrices: number, seed: number): number {
  const random = new Random(seed);
  let [settled, unclear] = [0, 0];
  for (let matrix = 0; matrix < matrices; matrix += 1) {
    const sigmas = Array.from({ length: 40 }, () => random.logBetween(0.003, 0.02));
    const sides = sigmas.map((sigma, cell): TwoSides => ({
      cellKey: `c${cell}`,
      base: runs(count, 0, sigma, random),
      head: runs(count, 0, sigma, random),
      betterIs: 'lower',
    }));
    const before = compareCells(sides).cells;
    const requested = before.map(({ moreRunsNeeded }) => moreRunsNeeded ?? 0);
    const more = sides.map((cell, place) => ({
      ...cell,
      base: [...cell.base, ...runs(requested[place] ?? 0, 0, sigmas[place] ?? 0, random)],
      head: [...cell.head, ...runs(requested[place] ?? 0, 0, sigmas[place] ?? 0, random)],
    }));
    for (const [place, { verdict }] of compareCells(more).cells.entries()) {
      if (before[place]?.verdict !== 'unclear' || requested[place] === 0) continue;
      unclear += 1;
      settled += verdict === 'unclear' ? 0 : 1;
    }
  }
  return percent(settled, unclear);
}
