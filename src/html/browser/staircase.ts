import type { PagePoint } from '../page-types.ts';

/** What counts as faster, at least: less is scatter between runs. */
const LEAST_GAIN = 0.01;

/**
 * The fastest configurations for each latency: items/s rises with the latency.
 * @param points of one precision
 * @returns corners from left to right, and what dominates each other point on these two axes by more than its noise
 */
export function staircase(points: readonly PagePoint[]) {
  const corners: PagePoint[] = [];
  const byLatency = points.toSorted((a, b) => a.latencyMs - b.latencyMs || b.itemsPerS - a.itemsPerS);
  for (const point of byLatency) {
    if (point.itemsPerS > (corners.at(-1)?.itemsPerS ?? 0)) corners.push(point);
  }
  const dominators = new Map(
    points.flatMap((point) => {
      const better = corners.find((corner) => dominates(corner, point));
      return better === undefined ? [] : [[point, better] as const];
    }),
  );
  return { corners, dominators };
}

function dominates(a: PagePoint, b: PagePoint): boolean {
  const gains = [a.itemsPerS / b.itemsPerS - 1, b.latencyMs / a.latencyMs - 1];
  return gains.every((gain) => gain >= 0) && Math.max(...gains) > Math.max(LEAST_GAIN, a.noise + b.noise);
}
