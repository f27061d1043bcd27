import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Random } from '../../../benchmarks/detection/random.ts';
import { segment } from '../../../src/judge/history/lasting-changes.ts';

const SHORTEST = 3;

/** The same by the squares around the mean of every level. */
function segmentSlowly(z: Float64Array, penalty: number): number[] {
  const best = [-penalty];
  const back = [0];
  for (let to = 1; to <= z.length; to += 1) {
    best[to] = Number.POSITIVE_INFINITY;
    let sum = 0;
    let squares = 0;
    for (let from = to - 1; from >= 0; from -= 1) {
      const value = z[from] ?? 0;
      sum += value;
      squares += value * value;
      const cost = squares - (sum * sum) / (to - from);
      const total = (best[from] ?? 0) + cost + penalty;
      if (to - from < SHORTEST || total >= (best[to] ?? 0)) continue;
      best[to] = total;
      back[to] = from;
    }
  }
  const starts: number[] = [];
  for (let to = back[z.length] ?? 0; to > 0; to = back[to] ?? 0) starts.push(to);
  return starts.toReversed();
}

/** Noise of 1 with levels that jump now and then. */
function series(seed: number, nights: number, jumps: number): Float64Array {
  const random = new Random(seed);
  let level = 0;
  return Float64Array.from({ length: nights }, () => {
    if (random.chance(jumps)) level += 3 * random.normal();
    return level + random.normal();
  });
}

test.each([0, 0.01, 0.05, 0.2])('the exact cuts of up to 200 nights; a jump on %f of them', (jumps) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e9 }),
      fc.integer({ min: SHORTEST, max: 200 }),
      fc.double({ min: 0.5, max: 60, noNaN: true }),
      (seed, nights, penalty) => {
        const z = series(seed, nights, jumps);
        expect(segment(z, penalty, SHORTEST)).toEqual(segmentSlowly(z, penalty));
      },
    ),
    { numRuns: 100 },
  );
});

describe('levels', () => {
  test('none of fewer nights than a level has, and none of equal nights', () => {
    expect(segment(new Float64Array(2), 5, SHORTEST)).toEqual([]);
    expect(segment(new Float64Array(0), 5, SHORTEST)).toEqual([]);
    expect(segment(new Float64Array(400), 5, SHORTEST)).toEqual([]);
  });
});
