import { median } from '../../statistics/order-statistics.ts';

/** An odd number of blocks, so that the level lies in the middle of one. */
const BLOCKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/** The scale shows at least this on either side of the level, so that noise does not look like a change. */
const LEAST_SCALE_PERCENT = 2;

/** Ratio of the scale to the largest change. */
const MARGIN = 1.3;

/** Percentage at both ends of a scale that includes all of these changes. */
export function scalePercent(changes: readonly (number | null)[]): number {
  const most = Math.max(0, ...changes.map((percent) => Math.abs(percent ?? 0)));
  return Math.max(LEAST_SCALE_PERCENT, Math.ceil(most * MARGIN));
}

/**
 * The newest values, one character each, on a scale that rows can share. `!` is beyond the scale, and a blank is a gap.
 * @param level middle of the scale; null for the median of the values
 * @param percent both ends of the scale in percent of the level
 */
export function sparkline(
  values: readonly (number | null)[],
  width: number,
  { level, percent }: { readonly level: number | null; readonly percent: number },
): string {
  const newest = values.slice(-width);
  const middle = level ?? median(newest.flatMap((value) => value ?? []));
  return newest
    .map((value) => {
      if (value === null || middle === null || middle === 0) return ' ';
      const place = (value / middle - 1) / (percent / 100);
      return Math.abs(place) > 1 ? '!' : (BLOCKS[Math.min(6, Math.floor((place + 1) * 3.5))] ?? ' ');
    })
    .join('');
}
