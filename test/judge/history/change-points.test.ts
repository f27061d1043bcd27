import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { Random } from '../../../benchmarks/detection/random.ts';
import { findChangePoints, lastingChanges } from '../../../src/judge/history/lasting-changes.ts';
import type { CellHistory } from '../../../src/judge/history/noise.ts';
import { plainHistory } from '../../support/plain-history.ts';

function noise(seed: number, nights: number, sigma: number): number[] {
  const random = new Random(seed);
  return Array.from({ length: nights }, () => Math.exp(sigma * random.normal()));
}

const places = (history: CellHistory): number[] => findChangePoints(history).map(({ place }) => place);

const anyHistory = fc.constantFrom(...packedHistories('synthetic-dev').map(nightlyValues));

describe('properties', () => {
  test('the same nights, the same answer; and nothing is written to what is given', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const copy = structuredClone(history);
        expect([findChangePoints(history), history]).toEqual([findChangePoints(history), copy]);
      }),
    );
  });

  test('a clock that does not move is as good as none', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 300, max: 3000 }), (history, mhz) => {
        const without = { ...history, clock: (history.clock ?? []).map(() => null) };
        const steady = { ...history, clock: (history.clock ?? []).map(() => mhz) };
        expect(findChangePoints(steady)).toEqual(findChangePoints(without));
      }),
    );
  });
});

describe('steps', () => {
  test('is told night by night: once, and nearly always within three nights', () => {
    const delays = Array.from({ length: 30 }, (_, seed) => {
      const at = 40 + (seed % 40);
      const values = noise(seed, 90, 0.01).map((value, night) => (night < at ? value : value * 1.1));
      const known = lastingChanges(plainHistory(values)).filter(({ place }) => Math.abs(place - at) <= 3);
      expect(known).toHaveLength(1);
      return (known[0]?.knownAt ?? 0) - at;
    });
    expect(Math.max(...delays)).toBeLessThanOrEqual(4);
    expect(delays.filter((delay) => delay > 3).length).toBeLessThanOrEqual(1);
  });

  test('a known clock explains what it did', () => {
    const random = new Random(4);
    const mhz = Array.from({ length: 120 }, () => (random.chance(0.4) ? 1800 : 1980));
    const values = mhz.map((clock) => (1980 / clock) * Math.exp(0.002 * random.normal()));
    const stepped = values.map((value, night) => (night < 80 ? value : value * 1.01));
    expect(places({ ...plainHistory(stepped), clock: mhz })).toEqual([80]);
  });
});

describe('noise alone', () => {
  test.each([
    [0.001, 150],
    [0.01, 150],
    [0.01, 600],
  ])('of %f over %i nights flags at most one history in a hundred', (sigma, nights) => {
    const seeds = Array.from({ length: 300 }, (_, seed) => seed + 1);
    const flagged = seeds.filter((seed) => places(plainHistory(noise(seed, nights, sigma))).length > 0);
    expect(flagged.length).toBeLessThanOrEqual(3);
  });

  test('equal nights, too few nights, and one outlier are no change', () => {
    expect(places(plainHistory(Array.from({ length: 60 }, () => 2)))).toEqual([]);
    expect(places(plainHistory([1, 1, 1, 2, 2, 2, 2]))).toEqual([]);
    const spiked = noise(3, 100, 0.01).map((value, night) => (night === 50 ? value * 1.5 : value));
    expect(places(plainHistory(spiked))).toEqual([]);
  });
});
