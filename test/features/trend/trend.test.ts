import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

type Trend = ReturnType<typeof OUTPUTS.trend.parse>;

describe('on recorded sweeps', () => {
  let db: string;

  beforeAll(async () => {
    db = join(sharedFolder(), 'bench.sqlite');
    for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
      await bench(['run', join(ROOT, 'matrices', `${name}.yaml`), '--db', db]);
    }
  }, 30_000);

  async function trend(...args: string[]): Promise<Trend> {
    return OUTPUTS.trend.parse(JSON.parse((await bench(['trend', ...args, '--db', db, '--json'])).stdout));
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
  const clock = (_: number, night: number, repeat: number) => (night === 1 ? 1500 : 1900) + repeat;
  simulateNights(db, { cells: simulatedCells(1), nights: 4, repeats: 3, value: () => 1, clock });
  const args = ['trend', '--with', 'sm-clock', '--by', 'sweep', '--db', db];
  const { cells } = OUTPUTS.trend.parse(JSON.parse((await bench([...args, '--json'])).stdout));
  expect(cells[0]?.strip).toEqual({ metric: 'smClockMhz', unit: 'MHz', values: [1902, 1502, 1902, 1902] });
  const { stdout } = await bench(args);
  expect(stdout).toMatch(/ 1902 MHz$/m);
  expect(stdout).toContain('\nbelow: SM clock\n');
  expect((await bench(['trend', '--with', 'power', '--db', db])).stdout).toContain('\nno run has power\n');
  expect((await bench([...args, '--together'])).stderr).toContain('--together draws none');
});

test('a sweep without results is a gap, not a line', async () => {
  const folder = sharedFolder();
  const db = join(folder, 'bench.sqlite');
  const matrix = stubMatrix(folder);
  await bench(['run', matrix, '--trtexec', STUB, '--db', db]);
  const failing = { STUB_RULES: JSON.stringify([{ when: 'input:8x3', does: 'fails' }]) };
  const failed = await bench(['run', matrix, '--trtexec', STUB, '--db', db], { env: failing });
  expect(failed.code).toBe(4);
  await bench(['run', matrix, '--trtexec', STUB, '--db', db]);
  const { stdout } = await bench(['trend', '--by', 'sweep', '--db', db, '--json']);
  const { cells } = OUTPUTS.trend.parse(JSON.parse(stdout));
  const values = Object.fromEntries(
    cells.map(({ label, points }) => [label, points.map(({ value }) => value !== null)]),
  );
  expect(values).toEqual({ 'small fp16 1x3 graph': [true, true, true], 'small fp16 8x3 graph': [true, false, true] });
}, 30_000);

test('marks where the level, the machine and a baseline lie', async () => {
  const folder = sharedFolder();
  const db = join(folder, 'bench.sqlite');
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
  const { stdout } = await bench(['trend', '--db', db, '--json']);
  const parsed = OUTPUTS.trend.parse(JSON.parse(stdout));
  const marks = Object.fromEntries(parsed.cells.map((cell) => [cell.label, cell.marks]));
  const machine = { step: 20, kind: 'environment', text: 'driver 580.1 → 590.2', breaksLine: false };
  expect(marks['vit fp16 1x3x224x224 graph']).toEqual([
    { step: 5, kind: 'baseline', text: 'v1', breaksLine: false },
    machine,
  ]);
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

test('two machines that take turns: the newest changes are named, the others counted', async () => {
  const cwd = sharedFolder();
  const value = (): number => 0.5;
  const gpuName = (night: number): string => `GPU ${night % 2}`;
  simulateNights(join(cwd, 'bench.sqlite'), { cells: simulatedCells(1), nights: 12, repeats: 1, value, gpuName });
  const { stdout } = await bench(['trend'], { cwd, env: { ...process.env, COLUMNS: '200' } });
  const legend = stdout.slice(stdout.indexOf('E 7 earlier')).replaceAll(/\s+/g, ' ').trim().split(' · ');
  expect(legend).toEqual([
    'E 7 earlier changes of the environment',
    'E 9 Jan GPU GPU 1 → GPU 0',
    'E 10 Jan GPU GPU 0 → GPU 1',
    'E 11 Jan GPU GPU 1 → GPU 0',
    'E 12 Jan GPU GPU 0 → GPU 1',
  ]);
});
