import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { largerSource, nightSigma, runSigma } from '../../../src/features/noise/assess-noise.ts';
import { simulatedSeries } from '../../support/simulated-series.ts';
import { normals } from '../../support/simulated-store.ts';

const sweepsOf = (values: readonly (readonly number[])[]) =>
  values.map((own, place) => ({ place, values: own, origin: null }));

describe('scatter of runs', () => {
  test('is pooled over the sweeps; a sweep with one run says nothing', () => {
    const sweeps = sweepsOf([[0.5, 0.51, 0.505, 0.498], [0.52, 0.515], [0.6]]);
    // numpy: sqrt(sum of ((log(a) - log(a).mean())**2).sum() over the sweeps, / (3 + 1))
    expect(runSigma(sweeps)).toBeCloseTo(0.009851309387418364, 12);
    expect(runSigma(sweepsOf([[1], [2]]))).toBeNull();
    expect(runSigma([])).toBeNull();
  });

  test('the level of a sweep and the unit do not matter', () => {
    const value = fc.double({ min: 0.5, max: 2, noNaN: true });
    const sweep = fc.array(value, { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(sweep, { minLength: 1, maxLength: 5 }), value, (values, scale) => {
        const scaled = values.map((own, i) => own.map((one) => one * scale ** i));
        expect(runSigma(sweepsOf(scaled))).toBeCloseTo(runSigma(sweepsOf(values)) ?? -1, 9);
      }),
    );
  });
});

describe('scatter of nights', () => {
  const normal = normals(21);
  const [one] = simulatedSeries({
    cells: 1,
    sweeps: 200,
    repeats: 1,
    value: (_cell, night) => Math.exp(0.01 * normal()) * (night < 100 ? 1 : 1.3),
  });

  test('is found beside a change of level', () => {
    const sigma = nightSigma(one?.sweeps ?? []);
    expect(sigma).toBeGreaterThan(0.008);
    expect(sigma).toBeLessThan(0.012);
  });

  test('takes eight nights', () => {
    expect(nightSigma(one?.sweeps.slice(0, 7) ?? [])).toBeNull();
    expect(nightSigma(one?.sweeps.slice(0, 8) ?? [])).not.toBeNull();
  });
});

describe('which is larger', () => {
  const share = (nights: number, repeats: number, between: number): number => {
    const normal = normals(22);
    const found = Array.from({ length: 200 }, () => {
      const [one] = simulatedSeries({ cells: 1, sweeps: nights, repeats, value: () => 1 });
      const sweeps = (one?.sweeps ?? []).map((sweep) => {
        const level = between * normal();
        return { ...sweep, values: sweep.values.map(() => Math.exp(0.003 * (level + normal()))) };
      });
      return largerSource(runSigma(sweeps), nightSigma(sweeps), nights, repeats);
    });
    return found.filter((source) => source === 'nights').length / found.length;
  };

  test.each([
    [8, 3],
    [12, 5],
    [24, 5],
    [60, 4],
  ])('%i nights of %i runs that are all alike: hardly ever the nights', (nights, repeats) =>
    expect(share(nights, repeats, 0)).toBeLessThan(0.1),
  );

  test.each([
    [12, 5],
    [60, 4],
  ])('%i nights of %i runs that differ as much as runs do: the nights', (nights, repeats) =>
    expect(share(nights, repeats, 2)).toBeGreaterThan(0.9),
  );

  test('is not known without repeats or with few nights', () => {
    expect([largerSource(null, 0.01, 9, 5), largerSource(0.01, null, 7, 5)]).toEqual([null, null]);
  });
});
