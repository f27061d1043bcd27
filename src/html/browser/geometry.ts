/** Converts values to pixels, and back. */
export type Scale = ReturnType<typeof linear>;

type Range = readonly [from: number, to: number];

export function linear([from, to]: Range, [start, end]: Range) {
  const factor = to === from ? 0 : (end - start) / (to - from);
  return {
    at: (value: number) => start + (value - from) * factor,
    back: (pixel: number) => (factor === 0 ? from : from + (pixel - start) / factor),
  };
}

export function logarithmic(values: readonly number[], pixels: Range): Scale {
  const scale = linear(padded(values.map(Math.log)), pixels);
  return { at: (value) => scale.at(Math.log(value)), back: (pixel) => Math.exp(scale.back(pixel)) };
}

const PADDING = 0.08;

function padded(values: readonly number[]): Range {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least || Math.abs(most) * 0.01 || 1) * PADDING;
  return [least - room, most + room];
}

/** Least vertical range relative to the value; with a smaller one, noise would look like a change. */
const LEAST_SPAN = 0.01;

/** Range of a vertical axis. @param most upper limit of the values; null if there is none */
export function rangeOf(values: readonly number[], most: number | null): Range {
  if (values.length === 0) return [0, 1];
  const [low, high] = padded(values);
  const middle = (low + high) / 2;
  const half = Math.max(high - low, LEAST_SPAN * Math.abs(middle)) / 2;
  return [middle - half, Math.min(middle + half, most ?? Infinity)];
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

export interface Tile {
  readonly place: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * A tree map that halves the longer side of its frame between two parts of nearly equal size. `sizes` are descending and
 * above 0.
 */
export function treeMap(sizes: readonly number[], frame: Tile): Tile[] {
  if (sizes.length < 2) return sizes.map(() => frame);
  const { place, x, y, width, height } = frame;
  let [count, part] = [1, sizes[0] ?? 0];
  const total = sizes.reduce((sum, size) => sum + size, 0);
  for (; count < sizes.length - 1 && part < total / 2; count += 1) part += sizes[count] ?? 0;
  const [share, rest] = [part / total, 1 - part / total];
  const [first, second] =
    width >= height
      ? [{ width: width * share }, { x: x + width * share, width: width * rest }]
      : [{ height: height * share }, { y: y + height * share, height: height * rest }];
  const after = { ...frame, ...second, place: place + count };
  return [...treeMap(sizes.slice(0, count), { ...frame, ...first }), ...treeMap(sizes.slice(count), after)];
}

/** The selected cell in the URL fragment after `#`, so that links can be shared. */
export function cellInHash(hash: string): string | null {
  return /^#cell=([0-9a-f]{4,32})$/.exec(hash)?.[1] ?? null;
}
