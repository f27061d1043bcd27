import { join } from 'node:path';

import type * as z from 'zod';
import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { simulatedStore } from '../../support/made-stores.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';

const CELLS = simulatedCells(12);
const BETWEEN_SWEEPS = 12;

type Noise = z.infer<typeof OUTPUTS.noise>;
type Cell = Noise['cells'][number];

const visible = ({ visible: shown }: Cell, runs: number): number =>
  shown.find((one) => one.runs === runs)?.percent ?? Number.NaN;

/** Cells are listed by their labels: `vit fp8 4x3x224x224 graph` is the fourth that was made. */
const placeOf = (label: string): number => Number(/ (\d+)x/.exec(label)?.[1]) - 1;

async function noise(db: string, ...args: string[]): Promise<Noise> {
  const { code, stdout, stderr } = await bench(['noise', ...args, '--json', '--db', db]);
  if (code !== 0 || stderr !== '') throw new Error(`exit code ${code}: ${stderr}`);
  return OUTPUTS.noise.parse(JSON.parse(stdout));
}

describe('a quiet machine, with one noisy cell', () => {
  const db = join(sharedFolder(), 'bench.sqlite');

  beforeAll(() => {
    const normal = normals(41);
    const value = (cell: number) => (0.5 + 0.1 * cell) * Math.exp((cell === 3 ? 0.02 : 0.002) * normal());
    simulateNights(db, { cells: CELLS, nights: BETWEEN_SWEEPS, repeats: 4, value });
  });

  test('the noise of each cell is what was put in', async () => {
    const { cells, sweeps, provenance } = await noise(db);
    expect([sweeps, provenance, cells.length]).toEqual([BETWEEN_SWEEPS, 'simulated', CELLS.length]);
    for (const cell of cells) {
      expect(cell.runs).toBe(48);
      if (placeOf(cell.label) === 3) continue;
      expect(cell.runPercent).toBeGreaterThan(0.15);
      expect(cell.runPercent).toBeLessThan(0.26);
      expect(cell.sweepPercent).toBeLessThan(0.2);
      expect(visible(cell, 3)).toBeLessThan(1.5);
      // More runs show smaller changes, and none under half a percent.
      const percents = [1, 3, 5, 10].map((runs) => visible(cell, runs));
      expect(percents).toEqual(percents.toSorted((a, b) => b - a));
      expect(percents.at(-1)).toBeGreaterThanOrEqual(0.5);
    }
    const noisy = cells.find(({ label }) => placeOf(label) === 3);
    expect(noisy?.runPercent).toBeGreaterThan(1.6);
    expect(noisy?.runPercent).toBeLessThan(2.5);
  });

  test('names, --filter, --metric and --last choose what is looked at', async () => {
    expect((await noise(db, 'batch=4')).cells.map(({ label }) => label)).toEqual(['vit fp8 4x3x224x224 graph']);
    const filtered = await noise(db, '--filter', 'precision=fp16', '--metric', 'throughputQps');
    expect(filtered.cells).toHaveLength(6);
    expect(new Set(filtered.cells.map(({ metric }) => metric))).toEqual(new Set(['throughputQps']));
    const short = await noise(db, '--last', '3');
    expect([short.sweeps, short.notes.join('\n')]).toEqual([3, expect.stringContaining('needs at least 8 sweeps')]);
    expect(short.cells.every(({ sweepPercent }) => sweepPercent === null)).toBe(true);
  });

  test.each([
    [['--want', '0.4'], '--want of bench noise was removed: its table shows'],
    [['--metric', 'engine-size'], 'a build has one engine size'],
    [['--metric', 'engineMib'], 'a build has one engine size'],
    [['no such cell'], 'no cell no such cell'],
    [['--last', '0'], 'must be a whole number'],
  ])('%j is one line', async (args, what) => {
    expect(await bench(['noise', ...args, '--db', db])).toEqual(refusal(what));
  });
});

test('a run far from the others of its sweep is no noise of the cell, and is counted', async () => {
  const normal = normals(17);
  const value = (_: number, night: number, repeat: number) =>
    (night === 4 && repeat === 2 ? 1.35 : 1) * Math.exp(0.003 * normal());
  const { cells, notes } = await noise(simulatedStore({ cells: simulatedCells(1), nights: 7, repeats: 5, value }));
  expect([cells[0]?.runs, notes[0]]).toEqual([34, '1 run far from the others of the sweep left out']);
  expect(cells[0]?.runPercent).toBeLessThan(0.4);
});

test('nights that differ by more than their runs are told apart from noisy runs', async () => {
  const normal = normals(43);
  const levels = Array.from({ length: 14 * CELLS.length }, () => 0.02 * normal());
  const value = (cell: number, night: number) => Math.exp((levels[night * 12 + cell] ?? 0) + 0.001 * normal());
  const db = simulatedStore({ cells: CELLS, nights: 14, repeats: 4, value });
  for (const cell of (await noise(db)).cells) {
    expect(cell.sweepPercent).toBeGreaterThan(5 * (cell.runPercent ?? 1));
    expect(visible(cell, 10) / visible(cell, 3)).toBeGreaterThan(0.8);
  }
});

test('the same recordings twice count once, and five runs of them show a change of under one percent', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const matrix = join(ROOT, 'matrices', 'quickstart-pair.yaml');
  for (let time = 0; time < 2; time += 1) expect((await bench(['run', matrix, '--db', db])).code).toBe(0);
  const { sweeps, cells, notes } = await noise(db);
  expect([sweeps, cells.map(({ runs }) => runs)]).toEqual([1, [5, 5]]);
  expect(notes[0]).toBe('1 sweep with the same recorded runs as an earlier one left out');
  for (const cell of cells) expect(visible(cell, 5)).toBeLessThan(1);
});

test('what is visible is what a comparison of two of the nights says', async () => {
  const normal = normals(91);
  const levels = Array.from({ length: 12 * 40 }, () => 0.003 * normal());
  const value = (cell: number, night: number) => Math.exp((levels[40 * night + cell] ?? 0) + 0.002 * normal());
  const store = simulatedStore({ cells: simulatedCells(40), nights: 12, repeats: 5, value });
  const found = await noise(store);
  const { stdout } = await bench(['compare', '--json', '--db', store]);
  const { cells }: { cells: { mdePercent: number }[] } = JSON.parse(stdout);
  const said = cells.map(({ mdePercent }) => mdePercent).toSorted((a, b) => a - b)[20] ?? 0;
  const ratio = (found.cells.map((cell) => visible(cell, 5)).toSorted((a, b) => a - b)[20] ?? 0) / said;
  expect(ratio).toBeGreaterThan(0.7);
  expect(ratio).toBeLessThan(1.4);
});
