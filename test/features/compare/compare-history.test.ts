import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import type { RunFlag } from '../../../src/records/run-flag.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';

async function compared(db: string) {
  const { code, stdout } = await bench(['compare', 'latest~1', 'latest', '--db', db, '--json']);
  return { code, ...OUTPUTS.compare.parse(JSON.parse(stdout)) };
}

describe('earlier nights and a comparison', () => {
  test('one wild sweep 22 nights ago hides no change of tonight', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const normal = normals(61);
    const cells = simulatedCells(24);
    simulateNights(db, {
      cells,
      nights: 40,
      repeats: 3,
      value: (cell, night) => {
        const isWild = cell < 6 && night === 17;
        const isSlower = cell < 6 && night === 39;
        return Math.exp(0.004 * normal()) * (isWild ? 1.2 : 1) * (isSlower ? 1.08 : 1);
      },
    });
    const { code, cells: rows } = await compared(db);
    expect(code).toBe(1);
    const slower = rows.filter(({ verdict }) => verdict === 'slower').map(({ key }) => key);
    expect(slower.toSorted()).toEqual(
      cells
        .slice(0, 6)
        .map(({ key }) => key)
        .toSorted(),
    );
    for (const row of rows.filter(({ key }) => slower.includes(key))) {
      expect(row.noise).toEqual(expect.objectContaining({ from: 'runsAndNights' }));
      expect(row.mdePercent).toBeLessThan(3);
    }
  });

  test('nights of another level say nothing on the first nights of a new one', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const normal = normals(62);
    simulateNights(db, {
      cells: simulatedCells(4),
      nights: 14,
      repeats: 3,
      value: (_cell, night) => Math.exp(0.001 * normal()) * (night < 12 ? 1 : 1.23) * (night < 13 ? 1 : 0.81),
    });
    const { cells } = await compared(db);
    for (const { verdict, noise, mdePercent } of cells) {
      expect(verdict).toBe('faster');
      expect(noise).toMatchObject({ from: 'runs', nights: 0 });
      expect(mdePercent).toBeLessThan(1);
    }
  });
});

test('a slow-down of all cells is one regression, and a new driver that explains it does not excuse it', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(63);
  simulateNights(db, {
    cells: simulatedCells(12),
    nights: 2,
    repeats: 4,
    value: (_cell, night) => Math.exp(0.002 * normal()) * (night === 0 ? 1 : 1.03),
    driver: (night) => (night === 0 ? '580.1' : '590.2'),
  });
  const { code, counts, shift, cells } = await compared(db);
  expect(code).toBe(1);
  expect(shift).toMatchObject({ verdict: 'slower', recorded: ['driver 580.1 → 590.2'] });
  expect(counts).toMatchObject({ slower: 0, faster: 0 });
  expect(counts.same).toBeGreaterThan(9);
  for (const { reasons } of cells) expect(reasons).toContain('commonShift');
  const { stdout } = await bench(['compare', '--db', db], { env: { COLUMNS: '200' } });
  expect(stdout).toContain('12 cells slower: 12 new');
  expect(stdout).toContain('driver 580.1 → 590.2');
  const report = async (format: string) => bench(['report', 'latest~1', 'latest', format, '--db', db]);
  const named = 'Common shift of +';
  for (const format of ['--junit', '--github', '--md']) {
    const { code: exit, stdout: text } = await report(format);
    expect([format, exit]).toEqual([format, 1]);
    expect(text).toContain(format === '--github' ? 'title=common shift::Common shift of +' : named);
  }
  const file = join(temporaryFolder(), 'report.xml');
  const asJson = await bench(['report', 'latest~1', 'latest', '--junit', file, '--json', '--db', db]);
  expect(JSON.parse(asJson.stdout).shift).toEqual(shift);
});

test('why cells share a shift is only what the machine is recorded to be in those cells', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(64);
  const flag = (id: 'contended' | 'powerLimited'): RunFlag => ({ id, effect: 'explained', value: null, evidence: id });
  // The last two cells did not move, and the tenth moved at its own clock.
  const isHeld = (cell: number, night: number): boolean => night === 1 && cell < 9;
  simulateNights(db, {
    cells: simulatedCells(12),
    nights: 2,
    repeats: 4,
    value: (cell, night) => Math.exp(0.002 * normal()) * (night === 1 && cell < 10 ? 1.03 : 1),
    clock: (cell, night) => (isHeld(cell, night) ? 1920 : 1980),
    flags: (cell, night, repeat) => [
      ...(isHeld(cell, night) ? [flag('powerLimited')] : []),
      ...(night === 0 && repeat === 1 ? [flag('contended')] : []),
    ],
  });
  const { shift, cells } = await compared(db);
  expect(cells.flatMap(({ reasons }) => reasons)).toContain('base: 1 of 4 runs left out, contended: contended');
  expect(shift).toMatchObject({ sharing: 10, recorded: ['power-limited in head', 'SM clock lower in head'] });
});
