import { expect, test } from 'vitest';

import { SimulatedGate } from '../../support/gate-evidence.ts';
import { normals, simulatedCells } from '../../support/simulated-store.ts';

const CELLS = simulatedCells(6);

/** Twelve sweeps; cell 1 is 10 % slower in the last one, and cell 2 has no result in it. */
function gateOf(): SimulatedGate {
  const normal = normals(3);
  const values = (cell: number, sweep: number): number[] =>
    cell === 2 && sweep === 11
      ? []
      : [1, 2, 3].map(() => (1 + cell) * (cell === 1 && sweep === 11 ? 1.1 : 1) * Math.exp(0.002 * normal()));
  const gate = new SimulatedGate({ cells: CELLS, metrics: ['gpuComputeMs'], values });
  for (let sweep = 0; sweep < 12; sweep += 1) gate.next();
  return gate;
}

test('judged again, a sweep gives a finding the id that it has, whatever id it would get now', () => {
  const gate = gateOf();
  const [found] = gate.findings;
  expect(gate.findings).toMatchObject([{ state: 'open', direction: 'slower', cells: [{ cellKey: CELLS[1]?.key }] }]);
  if (found === undefined) return;
  const accepted = { ...found, findingId: 'a'.repeat(32), owner: 'me' };
  gate.findings = [accepted];
  expect(gate.again().findings).toEqual([accepted]);
  gate.acknowledged.set(accepted.findingId, { isOver: false });
  const { cells, findings } = gate.again();
  expect(findings).toEqual([accepted]);
  expect(cells.map(({ verdict }) => verdict)).toEqual(['same', 'same', 'noResult', 'same', 'same', 'same']);
});

test('the reference is the level before the first finding that is not acknowledged', () => {
  const at = (sweep: number): number => (sweep < 6 ? 1 : sweep < 8 ? 1.08 : 1.2);
  const normal = normals(5);
  const values = (cell: number, sweep: number) =>
    [1, 2, 3].map(() => (cell === 1 ? at(sweep) : 1) * Math.exp(0.001 * normal()));
  const gate = new SimulatedGate({ cells: CELLS, metrics: ['gpuComputeMs'], values });
  for (let sweep = 0; sweep < 10; sweep += 1) gate.next();
  const [first, second] = gate.findings;
  const accept = (finding = first): number => {
    gate.acknowledged.set(finding?.findingId ?? '', { isOver: false });
    const { cells, findings } = gate.again();
    expect(findings.map(({ state }) => state)).toEqual(['open', 'open']);
    return Math.abs(Math.round(cells[1]?.changePercent ?? NaN));
  };
  expect([accept(second), accept(first)]).toEqual([20, 0]);
});

test('an acknowledged one whose cells are as before is over; one whose cells have no result is as it was', () => {
  const gate = gateOf();
  const [found] = gate.findings;
  if (found === undefined) throw new Error('nothing found');
  const [change] = found.cells;
  const ofCell = (cell: number, id: string) => ({
    ...found,
    findingId: id.repeat(32),
    cells: change === undefined ? [] : [{ ...change, cellKey: CELLS[cell]?.key ?? '' }],
  });
  gate.findings = [ofCell(3, 'b'), ofCell(2, 'c')];
  expect(gate.again().findings.map(({ findingId }) => findingId)).toEqual([found.findingId]);
  for (const { findingId } of gate.findings) gate.acknowledged.set(findingId, { isOver: false });
  const expected = { [found.findingId]: 'open', ['b'.repeat(32)]: 'recovered', ['c'.repeat(32)]: 'open' };
  expect(Object.fromEntries(gate.again().findings.map(({ findingId, state }) => [findingId, state]))).toEqual(expected);
});
