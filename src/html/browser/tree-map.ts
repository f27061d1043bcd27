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

const NAME_HEIGHT = 16;
const LEAST_NAMED_HEIGHT = 44;

/** Groups and their members. `sizes` in any order, zeros are left out; `names` is the group of each. */
export function nestedTreeMap(sizes: readonly number[], names: readonly string[], width: number, height: number) {
  const members = sizes
    .map((size, place) => ({ size, place, name: names[place] ?? '' }))
    .filter(({ size }) => size > 0)
    .toSorted((a, b) => b.size - a.size);
  const groups = [...Map.groupBy(members, ({ name }) => name)]
    .map(([name, own]) => ({ name, own, total: own.reduce((total, { size }) => total + size, 0) }))
    .toSorted((a, b) => b.total - a.total);
  const totals = groups.map(({ total }) => total);
  const frames = treeMap(totals, width, height);
  return frames.map((frame) => {
    const { name, own } = groups[frame.place] ?? { name: '', own: [] };
    const room = frame.height >= LEAST_NAMED_HEIGHT && own.length > 1 ? NAME_HEIGHT : 0;
    const areas = own.map(({ size }) => size);
    const inner = treeMap(areas, frame.width, frame.height - room);
    const tiles = inner.map((tile) => ({
      ...tile,
      place: own[tile.place]?.place ?? 0,
      x: frame.x + tile.x,
      y: frame.y + room + tile.y,
    }));
    return { name, frame, tiles };
  });
}
