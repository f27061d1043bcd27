import { compareCells } from '../compare-cells.ts';

/** How the runs of a cell scatter. */
export interface CellScatter {
  readonly key: string;
  /** Standard deviation of single runs, in logarithms. */
  readonly sigma: number;
  /** Values of earlier nights at the present level. */
  readonly past: readonly number[];
}

/** Smaller changes are never called, however sure they are. */
export const LEAST_CALLED_PERCENT = 0.5;

/**
 * The smallest change of each cell that two sweeps with so many runs of it would show, nine times in ten, in percent:
 * what a comparison says of runs that scatter just so.
 * @param runs a side, at least 2
 */
export function visibleChanges(cells: readonly CellScatter[], runs: number): number[] {
  const { cells: compared } = compareCells(
    cells.map(({ key, sigma, past }) => {
      const level = past.at(-1) ?? 1;
      const side = spreadEvenly(runs).map((z) => level * Math.exp(sigma * z));
      return { cellKey: key, base: side, head: side, past, betterIs: 'lower' };
    }),
  );
  return compared.map(({ mdePercent }) =>
    Math.max(LEAST_CALLED_PERCENT, mdePercent ?? Number.POSITIVE_INFINITY),
  );
}

/**
 * Evenly spaced numbers with mean 0. Their variance is that of a typical sample of a normal with variance 1: the median
 * of a chi-square over its degrees of freedom, those of two sides (Wilson and Hilferty 1931).
 */
function spreadEvenly(count: number): number[] {
  const degrees = 2 * (count - 1);
  const typical = (1 - 2 / (9 * degrees)) ** 3;
  const scale = Math.sqrt((count * (count + 1)) / 12 / typical);
  return Array.from({ length: count }, (_, i) => (i - (count - 1) / 2) / scale);
}

/** Fewer never settle a cell; more are no plan. */
const LEAST_REPEATS = 3;
export const MOST_REPEATS = 100;

/**
 * How many runs a side show a change of `wantPercent` in each cell; null when more than 100.
 * @param wantPercent at least 0.5
 */
export function repeatsFor(cells: readonly CellScatter[], wantPercent: number): (number | null)[] {
  const needed = cells.map((): number | null => null);
  for (let runs = LEAST_REPEATS; runs <= MOST_REPEATS && needed.includes(null); runs += 1) {
    for (const [index, percent] of visibleChanges(cells, runs).entries()) {
      if (percent <= wantPercent) needed[index] ??= runs;
    }
  }
  return needed;
}
