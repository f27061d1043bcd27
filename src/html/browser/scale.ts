export interface Scale {
  readonly at: (value: number) => number;
  readonly back: (pixel: number) => number;
}

export function linear([from, to]: readonly [number, number], [start, end]: readonly [number, number]): Scale {
  const factor = to === from ? 0 : (end - start) / (to - from);
  return {
    at: (value) => start + (value - from) * factor,
    back: (pixel) => (factor === 0 ? from : from + (pixel - start) / factor),
  };
}

export function padded(values: readonly number[], share: number): [number, number] {
  const least = values.reduce((found, value) => Math.min(found, value), Infinity);
  const most = values.reduce((found, value) => Math.max(found, value), -Infinity);
  const room = (most - least || Math.abs(most) * 0.01 || 1) * share;
  return [least - room, most + room];
}

/** Least vertical range, relative to the value: with less, noise would look like a change. */
const LEAST_SPAN = 0.01;

/** Of a vertical axis. @param most the largest value that there can be; null where there is none */
export function rangeOf(values: readonly number[], most: number | null): [number, number] {
  if (values.length === 0) return [0, 1];
  const [low, high] = padded(values, 0.08);
  const middle = (low + high) / 2;
  const half = Math.max(high - low, LEAST_SPAN * Math.abs(middle)) / 2;
  return [middle - half, Math.min(middle + half, most ?? Infinity)];
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
