const BLOCKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
/** So many values, the newest. */
const LENGTH = 20;
/** Of the level: a smaller range is no change that anybody should see. */
const LEAST_RANGE = 0.05;

/** Values as a line of blocks, the lowest one the smallest; empty for fewer than two. */
export function sparkline(values: readonly number[]): string {
  const shown = values.filter((value) => Number.isFinite(value)).slice(-LENGTH);
  if (shown.length < 2) return '';
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const range = Math.max(high - low, Math.abs(high) * LEAST_RANGE);
  const from = (low + high - range) / 2;
  return shown
    .map((value) => {
      const place = range === 0 ? 0 : ((value - from) / range) * BLOCKS.length;
      return BLOCKS[Math.min(BLOCKS.length - 1, Math.max(0, Math.floor(place)))];
    })
    .join('');
}
