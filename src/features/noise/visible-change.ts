import { at } from '../../statistics/at.ts';
import { median } from '../../statistics/median.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';

export interface CellScatter {
  readonly key: string;
  /** Of single runs, log scale. */
  readonly sigma: number;
  /** Of earlier sweeps at the present level. */
  readonly past: readonly number[];
  /** Standard deviation between two sweeps beyond their runs, log scale. */
  readonly nights?: number;
  readonly kind?: string;
}

/** Smaller changes are never reported. */
export const LEAST_CALLED_PERCENT = 0.5;

/**
 * The smallest change of each cell that two sweeps with this many runs of it would show, nine times in ten, in percent:
 * what a comparison says of runs that scatter just so. Samples scatter more or less than what they are drawn from, and
 * how much they do so says how far cells can be distinguished: so each cell is taken once from each fifth of its samples.
 * @param runs a side, at least 2
 */
export function visibleChanges(cells: readonly CellScatter[], runs: number): number[] {
  const fifths = Array.from(FIFTHS, (_, turn) => {
    const { cells: compared } = compareCells(
      cells.map(({ key, sigma, past, nights = 0, kind }, place) => {
        const level = past.at(-1) ?? 1;
        const spread = spreadEvenly(runs, at(FIFTHS, (place + turn) % FIFTHS.length));
        const side = spread.map((z) => level * Math.exp(sigma * z));
        return {
          cellKey: key,
          base: side,
          head: side,
          past,
          // Two equal sides show no sweep effect: the known one is used.
          systematicError: nights === 0 ? 0 : Math.hypot(sigma * Math.sqrt(2 / runs), nights),
          betterIs: 'lower',
          ...(kind === undefined ? {} : { kind }),
        };
      }),
    );
    return Float64Array.from(compared, ({ mdePercent }) => mdePercent ?? Number.POSITIVE_INFINITY);
  });
  return cells.map((_, place) => Math.max(LEAST_CALLED_PERCENT, median(fifths.map((found) => at(found, place))) ?? 0));
}

/** Midpoints of the fifths of a standard normal. */
const FIFTHS = Float64Array.of(-1.2816, -0.5244, 0, 0.5244, 1.2816);

/**
 * Evenly spaced numbers with mean 0 and the variance of a sample of a standard normal: a quantile of chi-square over
 * its degrees of freedom for two sides (Wilson and Hilferty 1931).
 * @param quantile of a standard normal; 0 for a typical sample
 */
function spreadEvenly(count: number, quantile: number): number[] {
  const degrees = 2 * (count - 1);
  const part = 2 / (9 * degrees);
  const variance = (1 - part + quantile * Math.sqrt(part)) ** 3;
  const scale = Math.sqrt((count * (count + 1)) / 12 / variance);
  return Array.from({ length: count }, (_, i) => (i - (count - 1) / 2) / scale);
}

/** Fewer never settle a cell; more are impractical. */
const LEAST_REPEATS = 3;
export const MOST_REPEATS = 100;

/**
 * Detectable effect of each cell in percent with unlimited runs, at a power of 90 %: runs have no noise, the sweep
 * effect stays. At least the smallest change ever reported.
 */
export function attainableChanges(cells: readonly CellScatter[]): number[] {
  const steady = cells.map((cell) => ({ ...cell, sigma: 0, past: [] }));
  return visibleChanges(steady, MOST_REPEATS);
}

/**
 * Runs a side that detect a change of `wantPercent` in each cell; null when more than 100.
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
