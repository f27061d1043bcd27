import { expect, it } from 'vitest';

import { gaussian, judgeScene, uniform } from './simulate.ts';

/** Steps of a known number of sds of one sweep in a third of the cells, 2 to 5 runs, sds over a factor of 16. */
function score(matrices: number, sweeps: number) {
  const counts = { falsely: 0, sweeps: 0, large: [0, 0, 0], middle: [0, 0, 0] };
  for (let seed = 1; seed <= matrices; seed += 1) {
    const next = uniform(seed * 7919);
    const repeats = [2, 3, 5][seed % 3] ?? 3;
    const cells = Array.from({ length: 12 }, (_, cell) => {
      const sd = 0.0005 * 16 ** next();
      const unit = Math.hypot((sd * Math.hypot(1, 0.7)) / Math.sqrt(repeats), 0.001);
      const z = cell < 4 ? 6 + 14 * next() : 0;
      return { sd, z, at: 3 + Math.floor(next() * (sweeps - 6)), ratio: Math.exp(z * unit) };
    });
    const scene = judgeScene(sweeps, {
      seed,
      repeats,
      runSd: (cell) => cells[cell]?.sd ?? 0,
      time: (cell, sweep) => (sweep >= (cells[cell]?.at ?? 0) ? (cells[cell]?.ratio ?? 1) : 1),
    });
    for (const [index, { z, at }] of cells.entries()) {
      const places = scene.flatMap((judgements, sweep) => (judgements[index]?.reported ? [sweep] : []));
      const first = places.find((place) => z > 0 && place >= at);
      counts.falsely += places.filter((place) => place !== first).length;
      counts.sweeps += sweeps;
      if (z === 0) continue;
      const row = z > 10 ? counts.large : counts.middle;
      row[0] = (row[0] ?? 0) + 1;
      if (first === at) row[1] = (row[1] ?? 0) + 1;
      if (first !== undefined && first <= at + 2) row[2] = (row[2] ?? 0) + 1;
    }
  }
  return counts;
}

it('reports steps in their sweep and by the third, and little else', () => {
  const { falsely, sweeps, large, middle } = score(24, 30);
  const share = (row: readonly number[], column: number) => (row[column] ?? 0) / (row[0] ?? 1);
  expect(share(large, 1)).toBeGreaterThan(0.97);
  expect(share(large, 2)).toBeGreaterThan(0.99);
  expect(share(middle, 1)).toBeGreaterThan(0.75);
  expect(share(middle, 2)).toBeGreaterThan(0.9);
  expect((1000 * falsely) / sweeps).toBeLessThan(0.5);
});

it('reports at most one of 10,000 quiet cell-sweeps where 2,000 cells are judged together', () => {
  const normal = gaussian(uniform(5));
  const sds = Array.from({ length: 2000 }, () => Math.exp(-6.5 + 0.6 * normal()));
  const scene = judgeScene(10, { seed: 11, cells: 2000, runSd: (cell) => sds[cell] ?? 0.001 });
  expect(scene.flat().filter((cell) => cell?.reported).length).toBeLessThanOrEqual(2);
});
