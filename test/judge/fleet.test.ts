import { describe, expect, test } from 'vitest';

import { type FleetValue, judgeFleet } from '../../src/judge/fleet.ts';
import { normals } from '../support/simulated-store.ts';

interface Simulated {
  readonly machines: number;
  readonly cells: number;
  /** What machines differ by in all of their cells, and a cell of them beyond that: log scale. */
  readonly machineSigma: number;
  readonly cellSigma?: number;
  /** Of the first machines, log scale. */
  readonly slow?: readonly number[];
}

function fleet(seed: number, { cells, cellSigma = 0.004, machines, machineSigma, slow = [] }: Simulated): FleetValue[] {
  const normal = normals(seed);
  return Array.from({ length: machines }, (_, machine) => {
    const effect = machineSigma * normal() + (slow[machine] ?? 0);
    return Array.from({ length: cells }, (_cell, cell) => ({
      machine: `node${machine}`,
      gpuName: 'GPU',
      cellKey: `cell${cell}`,
      condition: '',
      cost: (1 + cell) * Math.exp(effect + cellSigma * normal()),
    }));
  }).flat();
}

const slowOf = (values: readonly FleetValue[]): string[] =>
  judgeFleet(values).flatMap(({ machine, standing }) => (standing === 'slower' ? [machine] : []));

const named = (values: readonly FleetValue[]): number =>
  judgeFleet(values).filter(({ standing }) => standing !== 'like its twins').length;

function shareOf(runs: number, is: (seed: number) => boolean): number {
  return Array.from({ length: runs }, (_, seed) => is(seed + 1)).filter(Boolean).length / runs;
}

describe('judgeFleet', () => {
  test('one of ten machines is 4 % slower: it is named, with its size and its cells', () => {
    const standings = judgeFleet(fleet(1, { machines: 10, cells: 72, machineSigma: 0.001, slow: [0.04] }));
    const [slow, ...others] = standings;
    expect(slow).toMatchObject({ machine: 'node0', twins: 9, cells: 72, standing: 'slower' });
    expect(slow?.changePercent).toBeCloseTo(4, 0);
    expect(slow?.slowerCells).toBe(72);
    expect(others.map(({ standing }) => standing)).toEqual(Array(9).fill('like its twins'));
  });

  test('two slow machines do not hide each other', () => {
    expect(slowOf(fleet(2, { machines: 10, cells: 24, machineSigma: 0.003, slow: [0.04, 0.05] }))).toEqual([
      'node0',
      'node1',
    ]);
  });

  test('a machine with two twins has no standing', () => {
    const standings = judgeFleet(fleet(3, { machines: 3, cells: 24, machineSigma: 0.001, slow: [0.2] }));
    expect(standings.map(({ standing }) => standing)).toEqual([null, null, null]);
  });

  test('one slow cell, however slow, is no slow machine', () => {
    const values = fleet(4, { machines: 10, cells: 24, machineSigma: 0.002 });
    const one = values.map((value) =>
      value.machine === 'node0' && value.cellKey === 'cell0' ? { ...value, cost: 9 } : value,
    );
    expect(named(one)).toBe(0);
  });

  test('machines of another condition are no twins', () => {
    const values = fleet(5, { machines: 8, cells: 24, machineSigma: 0.002, slow: [0.1, 0.1, 0.1, 0.1] });
    const apart = values.map((value) => ({
      ...value,
      condition: value.machine < 'node4' ? 'TensorRT 10' : 'TensorRT 11',
    }));
    expect(named(apart)).toBe(0);
  });

  test('the same values in another order give the same', () => {
    const values = fleet(6, { machines: 6, cells: 12, machineSigma: 0.003, slow: [0.05] });
    const byName = (standings: ReturnType<typeof judgeFleet>) =>
      standings.toSorted((a, b) => (a.machine < b.machine ? -1 : 1));
    expect(byName(judgeFleet(values.toReversed()))).toEqual(byName(judgeFleet(values)));
  });

  // Seeded: the shares are exact. Machines that differ by 2 % among themselves are beyond the prior.
  test.each([
    [{ machines: 4, cells: 24, machineSigma: 0.003 }, 0],
    [{ machines: 4, cells: 24, machineSigma: 0.01 }, 0.04],
    [{ machines: 10, cells: 24, machineSigma: 0.003 }, 0],
    [{ machines: 10, cells: 24, machineSigma: 0.01 }, 0.04],
    [{ machines: 30, cells: 12, machineSigma: 0.005 }, 0.02],
  ])('calm fleets %o: at most this share has a machine named', (simulated, most) => {
    expect(shareOf(150, (seed) => named(fleet(seed, simulated)) > 0)).toBeLessThanOrEqual(most);
  });

  test.each([
    [{ machines: 4, cells: 24, machineSigma: 0.003, slow: [0.04] }, 0.9],
    [{ machines: 10, cells: 24, machineSigma: 0.003, slow: [0.03] }, 0.95],
    [{ machines: 30, cells: 12, machineSigma: 0.005, slow: [0.04] }, 0.95],
  ])('fleets with a slow machine %o: it alone is named in at least this share', (simulated, least) => {
    expect(shareOf(150, (seed) => slowOf(fleet(seed, simulated)).join('') === 'node0')).toBeGreaterThanOrEqual(least);
  });
});
