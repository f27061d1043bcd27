import { isDeepStrictEqual } from 'node:util';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { madeHistory } from '../../../benchmarks/detection/our-times.ts';
import { Random } from '../../../benchmarks/detection/random.ts';
import { type Look, lookAt } from '../../../src/judge/history/looks.ts';
import type { NightlyValues } from '../../../src/judge/history/noise.ts';
import { replaySweeps } from '../../../src/judge/history/replay-sweeps.ts';
import { RollingLooks } from '../../../src/judge/history/rolling-looks.ts';

function isShort({ values }: NightlyValues): boolean {
  return values.length < 400;
}

/** Of the sweeps whose look is not the same, value by value: what is to be seen, and what was. And of what is reported. */
function differing(history: NightlyValues): unknown[] {
  const rolling = new RollingLooks(history);
  const found: unknown[] = [];
  const plain = (sweeps: number): Look => {
    const look = lookAt(history, sweeps);
    const reused = rolling.at(sweeps);
    if (!isDeepStrictEqual(reused, look)) found.push({ sweeps, look, reused });
    return look;
  };
  const replay = replaySweeps(history, plain);
  const replayed = replaySweeps(history);
  return isDeepStrictEqual(replayed, replay) ? found : [...found, { replay, replayed }];
}

const kinds = fc.record({
  seed: fc.nat(1e9),
  sweeps: fc.integer({ min: 0, max: 400 }),
  /** Chances a sweep: of a step, an outlier, a short visit, a sweep without a value, another clock. */
  step: fc.constantFrom(0, 0.004, 0.03),
  stepSize: fc.constantFrom(0.004, 0.03, 0.5),
  outlier: fc.constantFrom(0, 0.02, 0.2),
  visit: fc.constantFrom(0, 0.02),
  gap: fc.constantFrom(0, 0.1),
  clock: fc.constantFrom<'none' | 'still' | 'some' | 'moving'>('none', 'still', 'some', 'moving'),
  drift: fc.constantFrom(0, 1e-4),
  wave: fc.constantFrom(0, 0.01),
  noise: fc.constantFrom(0, 1e-4, 0.01),
  /** Values are multiples of it. */
  resolution: fc.constantFrom(0, 1e-3, 0.02),
});

type Kind = typeof kinds extends fc.Arbitrary<infer Made> ? Made : never;

function historyOf(kind: Kind): NightlyValues {
  const random = new Random(kind.seed);
  const nights: number[] = [];
  const values: number[] = [];
  const clock: (number | null)[] = [];
  let [level, visitUntil, isSlow] = [0, 0, false];
  for (let night = 0; nights.length < kind.sweeps; night += 1) {
    if (random.chance(kind.step)) level += kind.stepSize * random.normal();
    if (random.chance(kind.visit)) visitUntil = night + 4;
    if (kind.clock === 'moving' && random.chance(0.02)) isSlow = !isSlow;
    if (random.chance(kind.gap)) continue;
    const off = (random.chance(kind.outlier) ? 0.1 : 0) + (night < visitUntil ? 0.05 : 0) + (isSlow ? 0.04 : 0);
    const log = level + kind.drift * night + kind.wave * Math.sin(night / 20) + off + kind.noise * random.normal();
    const value = Math.exp(log);
    nights.push(night);
    values.push(kind.resolution === 0 ? value : Math.max(1, Math.round(value / kind.resolution)) * kind.resolution);
    clock.push(kind.clock === 'some' && random.chance(0.5) ? null : isSlow ? 1900 : 1980);
  }
  const known = kind.clock === 'none' ? {} : { clock };
  return {
    ...known,
    nights,
    values: Float64Array.from(values),
    spread: values.map((_, place) => (place % 7 === 0 ? null : 0.02 + 1e-5 * place)),
    count: values.map((_, place) => 500 + (place % 3)),
  };
}

describe('looks that reuse those before are those of each night by itself', () => {
  test('of steps, drifts, waves, outliers, visits, gaps, timers and clocks', () => {
    fc.assert(
      fc.property(kinds, (kind) => {
        expect(differing(historyOf(kind))).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  test.each([
    ['short labelled ones', () => packedHistories('labelled').map(nightlyValues).filter(isShort)],
    [
      'simulated ones',
      () =>
        packedHistories('synthetic-dev')
          .filter((_, place) => place % 24 === 0)
          .map(nightlyValues),
    ],
    ['one with a step every 250 nights', () => [madeHistory(600, 250)]],
    ['one of equal values', () => [{ nights: [...Array(300).keys()], values: new Float64Array(300).fill(3) }]],
  ])('of %s', (_, make) => {
    expect(make().flatMap(differing)).toEqual([]);
  });
});
