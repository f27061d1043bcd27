import { median } from '../../statistics/order-statistics.ts';

/** An odd number: the level lies in the middle of one. */
const BLOCKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];
const ASCII_BLOCKS = ['_', '_', '.', '-', '=', '^', '^'];

/** The scale never shows less than this on either side of the level: noise must not look like a change. */
const LEAST_SCALE_PERCENT = 2;

/** Room above the largest change. */
const MARGIN = 1.3;

/** Both ends of a scale on which every one of these changes fits. */
export function scalePercent(changes: readonly (number | null)[]): number {
  const most = Math.max(0, ...changes.map((percent) => Math.abs(percent ?? 0)));
  return Math.max(LEAST_SCALE_PERCENT, Math.ceil(most * MARGIN));
}

export interface SparkScale {
  /** Middle of the scale; null: the median of the values. */
  readonly level: number | null;
  /** Both ends of the scale, percent of the level. */
  readonly percent: number;
  readonly isAscii?: boolean;
}

/** The newest values, one character each, on a scale that rows can share. Beyond the scale: `!`. A gap is a blank. */
export function sparkline(
  values: readonly (number | null)[],
  width: number,
  { level, percent, isAscii = false }: SparkScale = { level: null, percent: LEAST_SCALE_PERCENT },
): string {
  const newest = values.slice(-width);
  const middle = level ?? median(newest.flatMap((value) => value ?? []));
  const blocks = isAscii ? ASCII_BLOCKS : BLOCKS;
  return newest
    .map((value) => {
      if (value === null || middle === null || middle === 0) return ' ';
      const place = (value / middle - 1) / (percent / 100);
      return Math.abs(place) > 1 ? '!' : (blocks[Math.min(6, Math.floor((place + 1) * 3.5))] ?? ' ');
    })
    .join('');
}
