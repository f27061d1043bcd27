import { describe, expect, test } from 'vitest';

import {
  countFalseAlarms,
  judgeSame,
  halvesOfSweeps,
  neighbouringSweeps,
  pastBefore,
} from '../../../src/features/noise/false-alarms.ts';
import { realChanges } from '../../../src/features/noise/real-changes.ts';
import { simulatedSeries } from '../../support/simulated-series.ts';
import { normals } from '../../support/simulated-store.ts';

const quiet = (seed: number, sigma = 0.004): (() => number) => {
  const normal = normals(seed);
  return () => 0.5 * Math.exp(sigma * normal());
};

describe('counting', () => {
  test('none of many, as in the interval of 0 of 2592', () => {
    const alarms = countFalseAlarms(Array.from({ length: 36 }, () => ({ cells: 72, calls: 0 })));
    expect(alarms).toMatchObject({ comparisons: 36, alarmed: 0, cells: 72, cellComparisons: 2592 });
    expect(alarms.ofCells?.percent).toBe(0);
    expect(alarms.ofCells?.ciPercent[1]).toBeCloseTo(0.14221665633935318, 10);
    // scipy.stats.binomtest(0, 36).proportion_ci(0.95, 'exact').high
    expect(alarms.ofComparisons?.ciPercent[1]).toBeCloseTo(100 * (1 - 0.025 ** (1 / 36)), 9);
  });

  test('calls that come together count for fewer', () => {
    const cells = [40, 40, 40, 40, 38, 40];
    const calls = [0, 0, 6, 1, 0, 3];
    const { ofCells, alarmed } = countFalseAlarms(calls.map((called, i) => ({ cells: cells[i] ?? 0, calls: called })));
    expect(alarmed).toBe(3);
    // numpy: deff = C/(C-1) * ((k - p*m)**2).sum() / m.sum()**2 / (p*(1-p)/m.sum()) = 3.64, then scipy.stats.beta.ppf
    expect(ofCells?.percent).toBeCloseTo(4.201680672268908, 10);
    expect(ofCells?.ciPercent[0]).toBeCloseTo(0.7917620425035805, 8);
    expect(ofCells?.ciPercent[1]).toBeCloseTo(12.281843209585164, 8);
  });

  test('no comparison has no share', () => {
    expect(countFalseAlarms([])).toMatchObject({ comparisons: 0, ofCells: null, ofComparisons: null });
  });
});

describe('a quiet machine', () => {
  const value = quiet(3);
  const series = simulatedSeries({ cells: 40, sweeps: 7, repeats: 4, value });

  test('each sweep is halved in three ways, each cell two runs against two', () => {
    const halves = halvesOfSweeps(series, 7);
    expect(halves).toHaveLength(21);
    for (const sides of halves) {
      expect(sides).toHaveLength(40);
      for (const { base, head } of sides) expect([base.length, head.length]).toEqual([2, 2]);
    }
  });

  test('raises hardly an alarm', () => {
    const alarms = countFalseAlarms(judgeSame(halvesOfSweeps(series, 7)));
    expect(alarms.cellComparisons).toBe(840);
    expect(alarms.calls).toBeLessThanOrEqual(1);
  });

  test('cells with too few repeats are left out', () => {
    const [first, ...others] = series;
    const short = { ...first, sweeps: first?.sweeps.map((s) => ({ ...s, values: [0.5, 0.51] })) };
    const mixed = [{ ...others[0], ...short }, ...others].flatMap((one) =>
      one.cell === undefined || one.metric === undefined || one.sweeps === undefined
        ? []
        : [{ cell: one.cell, metric: one.metric, sweeps: one.sweeps }],
    );
    expect(halvesOfSweeps(mixed, 7).map((sides) => sides.length)).toEqual(Array.from({ length: 21 }, () => 39));
    expect(halvesOfSweeps(simulatedSeries({ cells: 3, sweeps: 2, repeats: 3, value }), 2)).toEqual([]);
  });
});

describe('neighbouring sweeps', () => {
  const value = quiet(5);

  test('are taken in pairs from the newest on, none twice', () => {
    const series = simulatedSeries({ cells: 2, sweeps: 5, repeats: 2, value });
    const { same: pairs } = neighbouringSweeps(series, 5);
    const runsOf = (place: number) => series[0]?.sweeps[place]?.values;
    expect(pairs.map(([one]) => [one?.base, one?.head])).toEqual([
      [runsOf(3), runsOf(4)],
      [runsOf(1), runsOf(2)],
    ]);
  });

  test('need the same engine, and two runs', () => {
    const rebuilt = { cells: 2, sweeps: 6, repeats: 2, value };
    const origin = (sweep: number): string => (sweep < 3 ? 'old' : 'new');
    expect(neighbouringSweeps(simulatedSeries({ ...rebuilt, origin }), 6).same).toHaveLength(2);
    expect(neighbouringSweeps(simulatedSeries({ ...rebuilt, origin: () => null }), 6).same).toEqual([]);
    expect(neighbouringSweeps(simulatedSeries({ ...rebuilt, repeats: 1 }), 6).same).toEqual([]);
  });

  test('a step in half of the cells is not counted, only that fewer earlier sweeps are of their level', () => {
    const simulated = (seed: number, from: number) => {
      const effect = quiet(seed, 0.002);
      const levels = Array.from({ length: 30 * 40 }, effect);
      const noise = quiet(seed + 50, 0.003);
      return simulatedSeries({
        cells: 40,
        sweeps: 30,
        repeats: 5,
        value: (cell, sweep) =>
          (levels[sweep * 40 + cell] ?? 1) * noise() * (sweep >= from && cell % 2 === 0 ? 1.05 : 1),
      });
    };
    const sweeps = Array.from({ length: 30 }, (_, sweep) => ({ sweepId: String(sweep) }));
    const counted = (from: number, isKnown: boolean) => {
      const found = [1, 2, 3, 4, 5, 6].map((seed) => {
        const series = simulated(seed, from);
        return neighbouringSweeps(series, 30, isKnown ? realChanges(series, sweeps, []) : new Map());
      });
      const { calls, cellComparisons, alarmed } = countFalseAlarms(found.flatMap(({ same }) => judgeSame(same)));
      return { calls, cellComparisons, alarmed, leftOut: found.reduce((sum, { leftOut }) => sum + leftOut, 0) };
    };
    expect(counted(30, true)).toEqual({ calls: 6, cellComparisons: 3600, alarmed: 5, leftOut: 0 });
    expect(counted(15, false)).toEqual({ calls: 134, cellComparisons: 3600, alarmed: 16, leftOut: 0 });
    expect(counted(15, true)).toEqual({ calls: 13, cellComparisons: 3480, alarmed: 10, leftOut: 120 });
    // The step lies between two pairs of sweeps, where nobody could count it.
    expect(counted(14, false)).toEqual({ calls: 18, cellComparisons: 3600, alarmed: 12, leftOut: 0 });
  });

  test('a machine that is another one every night raises alarms in many cells at once', () => {
    const machines = Array.from({ length: 8 }, (_, machine) => {
      const night = quiet(7 + 100 * machine, 0.02);
      const levels = Array.from({ length: 7 * 40 }, night);
      const noise = quiet(8 + 100 * machine, 0.001);
      return simulatedSeries({
        cells: 40,
        sweeps: 7,
        repeats: 4,
        value: (cell, sweep) => (levels[sweep * 40 + cell] ?? 1) * noise(),
      });
    });
    const halves = countFalseAlarms(machines.flatMap((one) => judgeSame(halvesOfSweeps(one, 7))));
    const neighbours = countFalseAlarms(machines.flatMap((one) => judgeSame(neighbouringSweeps(one, 7).same)));
    expect(halves.ofCells?.percent).toBeLessThan(1);
    expect(neighbours).toMatchObject({ comparisons: 24, alarmed: 24, cellComparisons: 960 });
    // Nights are believed to differ by 1 % at most, and these do by 2.8 %.
    expect(neighbours.ofCells?.ciPercent[0]).toBeGreaterThan(25);
  });
});

test('earlier sweeps steady a comparison from the eighth on, as of their newest level', () => {
  const value = quiet(9, 0.001);
  const [one] = simulatedSeries({
    cells: 1,
    sweeps: 40,
    repeats: 3,
    value: (_cell, sweep) => value() * (sweep < 28 ? 1 : 1.1),
  });
  if (one === undefined) throw new Error('one cell was asked for');
  const level = (sweep: number): readonly number[] => one.sweeps[sweep]?.values ?? [];
  expect(pastBefore(one, 7, level(7))).toEqual([]);
  expect(pastBefore(one, 8, level(8))).toHaveLength(8);
  expect(pastBefore(one, 28, level(27))).toHaveLength(24);
  // The first night at the new level: the nights before it are of another one.
  expect(pastBefore(one, 28, level(28))).toEqual([]);
  // Six nights at the new level say too little.
  expect(pastBefore(one, 34, level(34))).toEqual([]);
  const past = pastBefore(one, 38, level(38));
  expect(past).toHaveLength(10);
  expect(Math.min(...past)).toBeGreaterThan(0.54);
});
