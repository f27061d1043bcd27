import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';

type Trend = ReturnType<typeof OUTPUTS.trend.parse>;

describe('on recorded sweeps', () => {
  const db = join(sharedFolder(), 'bench.sqlite');

  beforeAll(async () => {
    for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
      await bench(['run', join(ROOT, 'matrices', `${name}.yaml`), '--db', db]);
    }
  }, 30_000);

  async function trend(...args: string[]): Promise<Trend> {
    return await jsonOf(OUTPUTS.trend, ['trend', ...args, '--db', db]);
  }

  test('by sweep: medians of five runs, the level of batch 8 a sixth higher', async () => {
    const { cells } = await trend('--by', 'sweep', '--filter', 'batch=8');
    expect(cells).toHaveLength(1);
    const [before, after] = cells[0]?.points ?? [];
    expect([before?.runs, after?.runs]).toEqual([5, 5]);
    expect((after?.value ?? 0) / (before?.value ?? 1)).toBeCloseTo(1.158, 2);
  });

  test('named by model, label, key or expression; a metric with its own unit', async () => {
    const { cells } = await trend('vit_small', '--metric', 'throughputQps');
    expect(cells.map(({ unit }) => unit)).toEqual(['qps', 'qps']);
    expect((await trend('batch=1 & model=vit*')).cells).toHaveLength(1);
    expect((await trend('vit_small fp16 1x3x224x224 graph transfers')).cells).toHaveLength(1);
    const unknown = await bench(['trend', 'resnet', '--db', db]);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('no cell resnet')]);
  });
});

test('the clock of the runs is a strip below, a value for each step', async () => {
  const db = join(sharedFolder(), 'clock.sqlite');
  const clock = (_: number, night: number, repeat: number) => ([1900, 1500, 1900][night] ?? 1700) + repeat;
  simulateNights(db, { cells: simulatedCells(1), nights: 4, repeats: 3, value: () => 1, clock });
  const args = ['trend', '--with', 'sm-clock', '--by', 'sweep', '--db', db];
  const { cells } = await jsonOf(OUTPUTS.trend, [...args]);
  expect(cells[0]?.strip).toEqual({ metric: 'smClockMhz', unit: 'MHz', values: [1902, 1502, 1902, 1702] });
  const { stdout } = await bench(args);
  expect(stdout).toMatch(/ 1702 MHz$/m);
  expect(stdout).toContain('\nbelow: SM clock\n');
  expect((await bench(['trend', '--with', 'power', '--db', db])).stdout).toContain('\nno run has power\n');
  expect((await bench([...args, '--together'])).stderr).toContain('--together has no charts');
});

test('a sweep without results is a gap, not a line', async () => {
  const db = join(sharedFolder(), 'bench.sqlite');
  const valueOf = (cell: number, night: number) => (cell === 1 && night === 1 ? null : 1);
  simulateNights(db, { cells: simulatedCells(2), nights: 3, repeats: 2, value: valueOf });
  const { cells } = await jsonOf(OUTPUTS.trend, ['trend', '--by', 'sweep', '--db', db]);
  const values = Object.fromEntries(
    cells.map(({ label, points }) => [label, points.map(({ value }) => value !== null)]),
  );
  expect(values).toEqual({
    'vit fp16 1x3x224x224 graph': [true, true, true],
    'vit fp8 2x3x224x224 graph': [true, false, true],
  });
}, 30_000);

test('marks where the level, the machine and a baseline lie', async () => {
  const db = join(sharedFolder(), 'bench.sqlite');
  const noise = normals(5);
  simulateNights(db, {
    cells: simulatedCells(2),
    nights: 60,
    repeats: 1,
    value: (cell, night) => 0.5 * (cell === 1 && night >= 40 ? 1.05 : 1) * Math.exp(0.004 * noise()),
    driver: (night) => (night >= 20 ? '590.2' : '580.1'),
  });
  await bench(['check', '--db', db]);
  await bench(['baseline', 'set', 'v1', sweepOfNight(5), '--db', db]);
  const parsed = await jsonOf(OUTPUTS.trend, ['trend', '--db', db]);
  const marks = Object.fromEntries(parsed.cells.map((cell) => [cell.label, cell.marks]));
  const machine = { step: 20, kind: 'environment', text: 'driver 580.1 → 590.2', breaksLine: false };
  const expected = [{ step: 5, kind: 'baseline', text: 'v1', breaksLine: false }, machine];
  expect(marks['vit fp16 1x3x224x224 graph']).toEqual(expected);
  expect(marks['vit fp8 2x3x224x224 graph']).toEqual([
    { step: 5, kind: 'baseline', text: 'v1', breaksLine: false },
    machine,
    {
      step: 40,
      kind: 'slower',
      text: expect.stringMatching(/^\+[45]\.\d %, finding [0-9a-f]{8}: new$/),
      breaksLine: false,
    },
  ]);
  const chart = await bench(['trend', 'batch=2', '--db', db]);
  expect(chart.stdout).toMatch(/└[─┬]+B[─┬]+E[─┬]+S/);
  expect(chart.stdout).toContain('S 10 Feb slower +');
});
