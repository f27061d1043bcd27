import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { findTwoStates } from '../../../src/features/noise/two-states.ts';
import { seededRandom } from '../../../src/matrix/plan/order.ts';
import { normals } from '../../support/simulated-store.ts';

const normal = normals(31);
const random = seededRandom(32);

/** Values half a percent apart by chance, moved by so many times that. */
function values(count: number, shift: (run: number) => number, noise = normal): number[] {
  return Array.from({ length: count }, (_, run) => 0.5 * Math.exp(0.005 * (noise() + shift(run))));
}

function foundIn(trials: number, make: () => number[]): number {
  return Array.from({ length: trials }, make).filter((one) => findTwoStates(one) !== null).length;
}

describe('a cell that jumps', () => {
  test('shows both levels, the share of the runs at each, and the visits', () => {
    const isHigh = (run: number): boolean => run % 10 >= 7;
    const found = findTwoStates(values(60, (run) => (isHigh(run) ? 12 : 0)));
    expect(found?.levels[0]).toBeCloseTo(0.5, 2);
    expect(found?.levels[1]).toBeCloseTo(0.5 * Math.exp(0.06), 2);
    expect(found?.apartPercent).toBeCloseTo(6.2, 0);
    expect(found?.sharePercent).toEqual([70, 30]);
    expect(found?.visits).toEqual([6, 6]);
  });

  test.each([
    [20, 8, 0.85],
    [30, 8, 0.97],
    [60, 6, 0.95],
    [200, 8, 0.99],
  ])('of %i runs, %i sigmas apart, is found', (runs, apart, share) => {
    const make = () => values(runs, () => (random() < 0.4 ? apart : 0));
    expect(foundIn(300, make)).toBeGreaterThanOrEqual(share * 300);
  });

  test('a few outliers do not hide it', () => {
    const make = () => values(60, () => (random() < 0.4 ? 8 : 0) + (random() < 0.02 ? 30 : 0));
    expect(foundIn(200, make)).toBeGreaterThan(180);
  });

  test('the unit does not matter, nor which level is the slow one', () => {
    const jumping = values(40, (run) => (run % 5 > 2 ? 10 : 0));
    const found = findTwoStates(jumping);
    const turned = findTwoStates(jumping.map((value) => 1 / value));
    expect(turned?.sharePercent).toEqual(found?.sharePercent.toReversed());
    expect(turned?.visits).toEqual(found?.visits.toReversed());
    fc.assert(
      fc.property(fc.double({ min: 1e-3, max: 1e3, noNaN: true }), (scale) => {
        const scaled = findTwoStates(jumping.map((value) => value * scale));
        expect(scaled?.apartPercent).toBeCloseTo(found?.apartPercent ?? 0, 6);
        expect(scaled?.visits).toEqual(found?.visits);
      }),
    );
  });
});

describe('is no jumping cell', () => {
  const uniform = (): number => 3.4 * random();
  const nights = (between: number, within: number) => (): (() => number) => {
    let level = 0;
    let run = 0;
    return () => {
      if (run % 5 === 0) level = between * normal();
      run += 1;
      return level + within * normal();
    };
  };
  const tail = (): number => normal() - (random() < 0.06 ? 2.5 * Math.log(random()) : 0);
  const outliers = (): number => normal() + (random() < 0.04 ? 6 + 24 * random() : 0);

  test.each([
    ['normal noise', () => normal],
    ['noise without a middle', () => uniform],
    ['a long tail', () => tail],
    ['outliers', () => outliers],
    ['noisy nights', nights(1.5, 0.5)],
    ['quiet runs in very noisy nights', nights(3, 0.3)],
  ])('%s: at most 4 of 1000', (_, noise) => {
    const found = [12, 15, 20, 30, 60].map((runs) => foundIn(1000, () => values(runs, () => 0, noise())));
    expect(Math.max(...found)).toBeLessThanOrEqual(10);
    expect(found.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(20);
  });

  test('a change that came to stay, or went back once', () => {
    expect(foundIn(300, () => values(60, (run) => (run < 30 ? 0 : 12)))).toBe(0);
    expect(foundIn(300, () => values(60, (run) => (run > 20 && run < 40 ? 12 : 0)))).toBe(0);
  });

  test('the steps of a coarse timer', () => {
    const coarse = (): number[] => values(60, () => 0).map((value) => Math.round(value / 0.005) * 0.005);
    expect(foundIn(300, coarse)).toBe(0);
    expect(findTwoStates(Array.from({ length: 40 }, (_, run) => (run % 3 === 0 ? 0.01 : 0.011)))).toBeNull();
  });

  test('levels closer than what is ever called, few runs, equal runs', () => {
    const near = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? 1 : 1.004) + 1e-5 * (i % 7));
    expect(findTwoStates(near)).toBeNull();
    expect(findTwoStates([1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1])).toBeNull();
    expect(findTwoStates(Array.from({ length: 20 }, () => 1))).toBeNull();
    expect(findTwoStates([])).toBeNull();
  });
});
