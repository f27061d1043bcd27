/** Converts values to pixels, and back. */
export interface Scale {
  readonly at: (value: number) => number;
  readonly back: (pixel: number) => number;
}

type Range = readonly [from: number, to: number];

export function linear([from, to]: Range, [start, end]: Range): Scale {
  const factor = to === from ? 0 : (end - start) / (to - from);
  return {
    at: (value) => start + (value - from) * factor,
    back: (pixel) => (factor === 0 ? from : from + (pixel - start) / factor),
  };
}

export function logarithmic(values: readonly number[], pixels: Range): Scale {
  const scale = linear(padded(values.map(Math.log)), pixels);
  return { at: (value) => scale.at(Math.log(value)), back: (pixel) => Math.exp(scale.back(pixel)) };
}

const PADDING = 0.08;

function padded(values: readonly number[]): Range {
  const least = values.reduce((found, value) => Math.min(found, value), Infinity);
  const most = values.reduce((found, value) => Math.max(found, value), -Infinity);
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

/** Squarified tree map (Bruls, Huizing and van Wijk 2000). `sizes` are descending and above 0. */
export function treeMap(sizes: readonly number[], width: number, height: number): Tile[] {
  const total = sum(sizes, 0, sizes.length);
  if (total <= 0) return [];
  const areas = sizes.map((size) => (size / total) * width * height);
  const tiles: Tile[] = [];
  let [x, y, w, h] = [0, 0, width, height];
  let from = 0;
  while (from < areas.length) {
    const side = Math.min(w, h);
    let to = from + 1;
    while (to < areas.length && worst(areas, from, to + 1, side) <= worst(areas, from, to, side)) {
      to += 1;
    }
    const row = sum(areas, from, to);
    const thickness = side > 0 ? row / side : 0;
    let along = 0;
    for (let place = from; place < to; place += 1) {
      const length = thickness > 0 ? (areas[place] ?? 0) / thickness : 0;
      tiles.push(
        w >= h
          ? { place, x, y: y + along, width: thickness, height: length }
          : { place, x: x + along, y, width: length, height: thickness },
      );
      along += length;
    }
    if (w >= h) [x, w] = [x + thickness, w - thickness];
    else [y, h] = [y + thickness, h - thickness];
    from = to;
  }
  return tiles;
}

function worst(areas: readonly number[], from: number, to: number, side: number): number {
  const row = sum(areas, from, to);
  const largest = areas[from] ?? 0;
  const smallest = areas[to - 1] ?? 0;
  return Math.max((side * side * largest) / (row * row), (row * row) / (side * side * smallest));
}

function sum(areas: readonly number[], from: number, to: number): number {
  let total = 0;
  for (let place = from; place < to; place += 1) total += areas[place] ?? 0;
  return total;
}

/** The selected cell in the URL fragment after `#`, so that links can be shared. */
export function cellInHash(hash: string): string | null {
  return /^#cell=([0-9a-f]{4,32})$/.exec(hash)?.[1] ?? null;
}
