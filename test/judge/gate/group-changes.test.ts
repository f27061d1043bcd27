import { expect, test } from 'vitest';

import { ALL_CELLS } from '../../../src/judge/gate/cell-words.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';
import { alarms, SimulatedGate, type SimulatedSeries } from '../../support/gate-evidence.ts';
import { normals, simulatedCells, sweepOfNight } from '../../support/simulated-store.ts';

const CELLS = 80;
const BEGIN = 30;

/** Sweeps of a cell that scatter by 0.3 %, and its runs by 0.3 %: too much for 1 % in a single cell. */
function gateOf(slower: (cell: number, sweep: number) => number, more: Partial<SimulatedSeries> = {}): SimulatedGate {
  const normal = normals(9);
  const gate = new SimulatedGate({
    cells: simulatedCells(CELLS),
    metrics: ['gpuComputeMs'],
    values: (cell, sweep) => {
      const level = 2 * slower(cell, sweep) * Math.exp(0.003 * normal());
      return [1, 2, 3].map(() => level * Math.exp(0.003 * normal()));
    },
    ...more,
  });
  gate.skip(BEGIN);
  return gate;
}

test('1 % in half of the cells is reported in its first sweep, with the group, and once', () => {
  const gate = gateOf((cell, sweep) => (cell % 2 === 1 && sweep >= BEGIN ? 1.01 : 1));
  const verdict = gate.next();
  expect(verdict.candidates[0]).toMatchObject({ cellKeys: { length: 3 } });
  const [found, ...others] = alarms(verdict, BEGIN);
  expect(found).toMatchObject({ group: ['fp8'], firstBadSweepId: sweepOfNight(BEGIN) });
  expect(found?.cells.length).toBeGreaterThanOrEqual(0.9 * (CELLS / 2));
  expect(others).toEqual([]);
  for (let sweep = BEGIN + 1; sweep < BEGIN + 8; sweep += 1) expect(alarms(gate.next(), sweep)).toEqual([]);
  expect(gate.findings.map(({ state }) => state)).toEqual(['open']);
});

test('all cells under a new driver are a finding of the environment', () => {
  const environments = new Map<string, Environment>([
    ['old', { ...UNKNOWN_ENVIRONMENT, driver: '580.1' }],
    ['new', { ...UNKNOWN_ENVIRONMENT, driver: '590.2' }],
  ]);
  const gate = gateOf((_, sweep) => (sweep >= BEGIN ? 1.03 : 1), {
    environments,
    environmentId: (sweep) => (sweep >= BEGIN ? 'new' : 'old'),
  });
  expect(alarms(gate.next(), BEGIN)).toMatchObject([
    { kind: 'change', cause: 'environment', group: [ALL_CELLS], environmentChanges: ['driver 580.1 → 590.2'] },
  ]);
});

test('where half of a few cells moved, the others are not blamed', () => {
  const cells = simulatedCells(6);
  const gate = gateOf((cell, sweep) => (cell % 2 === 1 && sweep >= BEGIN ? 1.05 : 1), { cells });
  const reported = Array.from({ length: 6 }, (_, later) => alarms(gate.next(), BEGIN + later)).flat();
  const blamed = new Set(reported.flatMap((finding) => finding.cells.map(({ cellKey }) => cellKey)));
  expect(blamed).toEqual(new Set(cells.flatMap(({ key }, cell) => (cell % 2 === 1 ? [key] : []))));
});

test('without a change no group is reported', () => {
  const gate = gateOf(() => 1);
  for (let sweep = BEGIN; sweep < BEGIN + 10; sweep += 1) expect(alarms(gate.next(), sweep)).toEqual([]);
});
