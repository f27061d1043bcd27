import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { Random } from '../../../benchmarks/detection/random.ts';
import { findChangePoints, lastingChanges, segment } from '../../../src/judge/history/lasting-changes.ts';
import type { CellHistory } from '../../../src/judge/history/noise.ts';
import { plainHistory } from '../../support/plain-history.ts';

function noise(seed: number, sweeps: number, sigma = 0.003): number[] {
  const random = new Random(seed);
  return Array.from({ length: sweeps }, () => Math.exp(sigma * random.normal()));
}

/** Slower by a share from a sweep on. */
const stepped = (seed: number, sweeps: number, at: number, rel: number): number[] =>
  noise(seed, sweeps).map((value, sweep) => (sweep < at ? value : value * (1 + rel)));

const placesOf = (values: readonly number[], since?: number): number[] =>
  lastingChanges(plainHistory(values), since).map(({ place }) => place);

describe('calm cells', () => {
  test.each([0.03, 0.05, 0.2, 1])('a step of %f is known to last by its fifth sweep', (rel) => {
    const delays = Array.from({ length: 30 }, (_, seed) => {
      const [known] = lastingChanges(plainHistory(stepped(seed, 75, 60, rel)));
      return (known?.knownAt ?? Number.NaN) - 60 + 1;
    });
    expect(delays.filter((delay) => delay <= 5).length).toBeGreaterThanOrEqual(27);
    expect(delays.filter((delay) => delay < 3)).toEqual([]);
  });

  test.each([
    [10, 5],
    [6, 6],
  ])('two steps after %i sweeps, %i sweeps apart', (quiet, apart) => {
    const levelOf = (sweep: number): number =>
      1 + 0.06 * Number(sweep >= quiet) + 0.07 * Number(sweep >= quiet + apart);
    const values = noise(4, quiet + 2 * apart, 0.0015).map((value, sweep) => value * levelOf(sweep));
    expect(findChangePoints(plainHistory(values)).map(({ place }) => place)).toEqual([quiet, quiet + apart]);
  });

  test('what lasted for one or two sweeps, and equal values, are none', () => {
    for (const length of [1, 2]) {
      const values = noise(4, 70).map((value, sweep) => (sweep >= 60 && sweep < 60 + length ? value * 1.05 : value));
      expect(placesOf(values)).toEqual([]);
    }
    expect(placesOf(Array.from({ length: 60 }, () => 512))).toEqual([]);
  });
});

test('a sweep asked alone knows what the whole way knew in it for the first time', () => {
  let known = 0;
  for (const history of packedHistories('synthetic-dev')
    .filter((_, place) => place >= 64 && place % 4 === 0)
    .map(nightlyValues)) {
    for (const change of lastingChanges(history)) {
      const index = history.places.indexOf(change.knownAt) + 1;
      const clock = history.clock?.slice(0, index);
      const past = { places: history.places.slice(0, index), values: history.values.slice(0, index), clock };
      expect(lastingChanges(past, change.knownAt)).toContainEqual(change);
      known += 1;
    }
  }
  expect(known).toBeGreaterThan(25);
  expect(placesOf(stepped(4, 60, 40, 0.05), 60)).toEqual([]);
});

describe('clocks and builds', () => {
  const random = new Random(8);
  const slow = Array.from({ length: 120 }, (_, sweep) => (sweep >= 40 && sweep < 46) || (sweep >= 80 && sweep < 92));
  const values = slow.map((isSlow) => (isSlow ? 1.04 : 1) * Math.exp(0.002 * random.normal()));

  test('a clock that switches seldom explains what it did', () => {
    const clock = slow.map((isSlow) => 1980 / (isSlow ? 1.04 : 1));
    expect(placesOf(values).length).toBeGreaterThan(0);
    // Three switches teach that it does: the first visit is over by then.
    expect(lastingChanges({ ...plainHistory(values), clock }, 80)).toEqual([]);
  });

  test('a level that begins with a new build of the same sources is build luck; of new sources it is not', () => {
    const slower = stepped(9, 70, 60, 0.05);
    const builds = slower.map((_, sweep) => (sweep < 60 ? 'a' : 'b'));
    const luckOf = (sources: readonly (string | null)[]) =>
      lastingChanges({ ...plainHistory(slower), builds, sources }).map(({ isBuildLuck }) => isBuildLuck);
    expect(luckOf(slower.map(() => 's'))).toEqual([true]);
    expect(luckOf(slower.map((_, sweep) => (sweep < 60 ? 's' : 't')))).toEqual([false]);
    expect(luckOf(slower.map(() => null))).toEqual([false]);
  });
});

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

  test.each([8, 10, 14, 20, 24, 28, 32])('is seen in the middle of %i sweeps', (sweeps) => {
    expect(places(plainHistory(stepped(1, sweeps, sweeps / 2, 0.15)))).toEqual([sweeps / 2]);
  });

  test('a known clock explains what it did', () => {
    const random = new Random(4);
    const mhz = Array.from({ length: 120 }, () => (random.chance(0.4) ? 1800 : 1980));
    const values = mhz.map((clock) => (1980 / clock) * Math.exp(0.002 * random.normal()));
    const slower = values.map((value, night) => (night < 80 ? value : value * 1.01));
    expect(places({ ...plainHistory(slower), clock: mhz })).toEqual([80]);
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
      const total = (best[from] ?? 0) + (squares - (sum * sum) / (to - from)) + penalty;
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

test('levels: none of fewer nights than a level has, and none of equal nights', () => {
  expect(segment(new Float64Array(2), 5, SHORTEST)).toEqual([]);
  expect([segment(new Float64Array(0), 5, SHORTEST), segment(new Float64Array(400), 5, SHORTEST)]).toEqual([[], []]);
});
