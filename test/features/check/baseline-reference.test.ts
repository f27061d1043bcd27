import { join } from 'node:path';

import { expect, test } from 'vitest';

import { cellLabel } from '../../../src/records/cell.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { simulatedStore } from '../../support/made-stores.ts';
import { benchJson, OUTPUTS } from '../../support/outputs.ts';
import { change } from '../../support/store-dump.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';

const CELLS = simulatedCells(4);
const [, ...FP8] = simulatedCells(2);
const BETWEEN_SWEEPS = 16;

/** Slower by 10 % in cell 1 from night 8 on. */
const value = (cell: number, night: number): number =>
  (0.5 + 0.1 * cell) * (1 + 0.0005 * ((night * 7 + cell) % 5)) * (cell === 1 && night >= 8 ? 1.1 : 1);

const store = (): string => simulatedStore({ cells: CELLS, nights: BETWEEN_SWEEPS, repeats: 3, value });

async function checked(db: string, ...args: string[]) {
  const { json, ...ended } = await benchJson(OUTPUTS.check, ['check', '--db', db, ...args]);
  const [series] = json.series;
  return { ...ended, findings: json.findings, series, cell: series?.cells.find(({ key }) => key === CELLS[1]?.key) };
}

test('check --against judges against the runs of a baseline, and stores nothing of it', async () => {
  const db = store();
  await bench(['baseline', 'set', 'slow', sweepOfNight(9), '--force', '--db', db]);
  await bench(['baseline', 'set', 'fast', sweepOfNight(2), '--db', db]);
  const slow = await checked(db, '--against', 'slow');
  const expected = [0, 'nothing slower; compared with baseline slow', 'same'];
  expect([slow.code, slow.series?.headline, slow.cell?.verdict]).toEqual(expected);
  expect(slow.cell?.before).toBeCloseTo(0.66, 2);
  const fast = await checked(db, '--against', 'fast');
  expect([fast.code, fast.cell?.verdict, fast.cell?.before?.toFixed(2)]).toEqual([1, 'slower', '0.60']);
  expect(fast.cell?.changePercent).toBeCloseTo(10, 0);
  // No command can name a finding that is not stored.
  expect((await bench(['check', '--against', 'fast', '--db', db])).stdout).toMatch(/next: bench compare \w+ \w+\n/);
  const other = await bench(['check', '--against', 'none', '--db', db]);
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('--against none: baseline not found')]);
});

test('a sweep with findings that nobody acknowledged is no baseline, unless it is forced', async () => {
  const db = store();
  const set = (night: number, ...args: string[]) =>
    bench(['baseline', 'set', 'v1', sweepOfNight(night), '--db', db, ...args]);
  expect((await set(7)).code).toBe(0);
  await bench(['baseline', 'rm', 'v1', '--db', db]);
  await bench(['check', '--db', db]);
  const [finding] = (await checked(db)).findings;
  const named = `${finding?.id.slice(0, 8)} (${FP8.map(cellLabel).join()})`;
  const text = `bench: sweep ${sweepOfNight(15).slice(0, 8)} cannot be a baseline: 1 finding not acknowledged: ${named}; \`bench check\` and \`bench ack\`, or --force\n`;
  expect(await set(15)).toMatchObject({ code: 2, stdout: '', stderr: text });
  expect((await bench(['ls', 'baselines', '--db', db])).stdout).toContain('no baseline');
  expect(await set(15, '--force')).toMatchObject({ code: 0, stderr: `note: 1 finding not acknowledged: ${named}\n` });
  await bench(['baseline', 'rm', 'v1', '--db', db]);
  await bench(['ack', '--all', '--reason', 'known', '--db', db]);
  expect(await set(15)).toMatchObject({ code: 0, stderr: '' });
});

test('a baseline stays the reference of a cell that has been faster since before it', async () => {
  const spike = (cell: number, night: number): number => value(0, night) * (cell === 1 && night === 3 ? 1.5 : 1);
  const db = simulatedStore({ cells: CELLS, nights: 6, repeats: 3, value: spike });
  await bench(['baseline', 'set', 'v1', sweepOfNight(3), '--force', '--db', db]);
  const { cell } = await checked(db, '--against', 'v1');
  expect([cell?.verdict, cell?.before?.toFixed(2), cell?.changePercent?.toFixed(0)]).toEqual(['faster', '0.75', '-33']);
});

test('a matrix names the baseline that every output judges against', async () => {
  const db = store();
  await bench(['baseline', 'set', 'shipped', sweepOfNight(2), '--db', db]);
  const plan = JSON.stringify({ gate: { against: 'shipped' } });
  change(db, `UPDATE sweeps SET plan = '${plan}'`);
  const first = await checked(db);
  expect([first.code, first.cell?.verdict]).toEqual([1, 'slower']);
  const id = first.findings.find(({ direction }) => direction === 'slower')?.id ?? '';
  // A sweep later it is the same finding, and open.
  simulateNights(db, { cells: CELLS, nights: 1, after: BETWEEN_SWEEPS, repeats: 3, value });
  change(db, `UPDATE sweeps SET plan = '${plan}'`);
  const next = await checked(db);
  expect([next.code, next.findings.find((one) => one.id === id)?.state]).toEqual([1, 'open']);
  const compared = await bench(['compare', '--db', db]);
  expect([compared.code, compared.stdout]).toEqual([1, expect.stringContaining('compared with baseline shipped')]);
  // What is acknowledged may stay; a faster sweep moves no baseline.
  await bench(['ack', '--all', '--reason', 'known', '--db', db]);
  const acknowledged = await checked(db);
  expect([acknowledged.code, acknowledged.cell?.verdict]).toEqual([0, 'same']);
});

const OLD = 'a'.repeat(32);
const NEW = 'b'.repeat(32);

test.each([
  { metric: 'engineMib', old: { engineMib: 10 }, now: { engineMib: 12 }, change: 20 },
  { metric: 'sqnrDb', old: { sqnrDb: 40 }, now: { sqnrDb: 30 }, change: -10 },
  { metric: 'precisionSharePercent', old: { precisionShare: 1 }, now: { precisionShare: 0.5 }, change: -50 },
  { metric: 'h2dBoundPercent', old: {}, now: {}, change: 100 },
])(
  '$metric has the baseline as its reference, however long it is off',
  async ({ change: percent, metric, now, old }) => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const isNew = (night: number): boolean => night >= 3;
    const isBound = metric === 'h2dBoundPercent';
    const simulate = (nights: number, after: number): void => {
      simulateNights(db, {
        cells: FP8,
        nights,
        after,
        repeats: 2,
        value: (_, night) => 0.5 + 0.0001 * (night % 3),
        engine: (_, night) => (isNew(night) && !isBound ? { buildId: NEW, ...now } : { buildId: OLD, ...old }),
        figures: (_, night) => ({ boundBy: isBound && isNew(night) ? 'h2d' : 'compute' }),
      });
      if (after > 0) change(db, `UPDATE sweeps SET plan = '${JSON.stringify({ gate: { against: 'shipped' } })}'`);
    };
    simulate(BETWEEN_SWEEPS, 0);
    await bench(['baseline', 'set', 'shipped', sweepOfNight(1), '--db', db]);
    await bench(['baseline', 'set', 'new', sweepOfNight(3), '--force', '--db', db]);
    expect([(await checked(db)).findings, (await checked(db, '--against', 'new')).code]).toEqual([[], 0]);
    simulate(1, BETWEEN_SWEEPS);
    const first = await checked(db);
    const found = first.findings.find(({ details }) => details.some((detail) => detail.metric === metric));
    const sizes = found?.details.flatMap((detail) => (detail.metric === metric ? detail.changePercent : []));
    expect([first.code, sizes]).toEqual([1, [expect.closeTo(percent, 1)]]);
    if (metric === 'engineMib') {
      expect((await bench(['check', '--db', db])).stdout).toContain('engine size · S 4 Jan worse\n');
      const { stdout } = await bench(['trend', '--metric', 'engine-size', '--db', db]);
      expect(stdout).toContain('S 4 Jan worse +20.0 %, finding');
    }
    // It is the same finding in later sweeps; acknowledged it may stay.
    simulate(5, BETWEEN_SWEEPS + 1);
    const later = await checked(db);
    expect([later.code, later.findings.map(({ id, state }) => [id, state])]).toEqual([1, [[found?.id, 'open']]]);
    await bench(['ack', '--all', '--reason', 'known', '--db', db]);
    simulate(1, BETWEEN_SWEEPS + 6);
    const acknowledged = await checked(db);
    expect([acknowledged.code, acknowledged.findings.map(({ state }) => state)]).toEqual([0, ['acknowledged']]);
  },
);

test('a baseline that is not set is said, and the reference is the usual one', async () => {
  const db = store();
  change(db, `UPDATE sweeps SET plan = '${JSON.stringify({ gate: { against: 'gone' } })}'`);
  const note = 'gate.against: no baseline gone is set for this machine: the reference is the last accepted level';
  const { cell, code, series } = await checked(db);
  expect([code, series?.notes]).toEqual([1, [note]]);
  expect([series?.headline, cell?.before?.toFixed(2)]).toEqual(['1 cell slower: 1 new', '0.60']);
});

test('compare ends with what check says of its head', async () => {
  const db = store();
  for (const at of [7, 8]) await bench(['check', '--as-of', sweepOfNight(at), '--db', db]);
  const all = await checked(db);
  const newest = sweepOfNight(BETWEEN_SWEEPS - 1);
  const text = (await bench(['compare', sweepOfNight(3), newest, '--db', db])).stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain(`bench check of sweep ${newest.slice(0, 8)}: ${all.series?.headline}`);
  // A sweep that nobody judged has no such line.
  const unjudged = (await bench(['compare', sweepOfNight(3), sweepOfNight(5), '--db', db])).stdout;
  expect(unjudged).not.toContain('bench check of sweep');
});

test('a baseline of another GPU model is refused, or said to be missing', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const gpuName = (night: number): string => (night === 2 ? 'NVIDIA L4' : 'NVIDIA H200');
  const stepped = (cell: number, night: number, repeat: number): number =>
    (1 + cell + 0.001 * ((7 * night + 3 * repeat) % 5)) * (night === 2 ? 1.25 : 1);
  simulateNights(db, { cells: simulatedCells(3), nights: 5, repeats: 3, value: stepped, gpuName });
  await bench(['baseline', 'set', 'l4', 'latest~2', '--db', db]);
  expect(await bench(['check', '--against', 'l4', '--db', db])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--against l4: measured on another GPU model, TensorRT major or clock'),
  });
});
