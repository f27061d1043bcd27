import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, temporaryFolder } from '../support/bench.ts';
import { normals, simulatedCells, simulateNights } from '../support/simulated-store.ts';

interface Compared {
  readonly shift: { readonly verdict: string; readonly recorded: readonly string[] } | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly cells: readonly {
    readonly key: string;
    readonly verdict: string;
    readonly mdePercent: number;
    readonly noise: {
      readonly from: string;
      readonly nights: number;
      readonly nightsLeftOut: number;
    };
    readonly reasons: readonly string[];
  }[];
}

async function compared(
  db: string,
  ...more: string[]
): Promise<Compared & { code: number | null }> {
  const { code, stdout } = await bench(['compare', ...more, '--db', db, '--json']);
  const json: Compared = JSON.parse(stdout);
  return { ...json, code };
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
      expect(row.noise).toEqual(
        expect.objectContaining({ from: 'runsAndNights', nightsLeftOut: 1 }),
      );
      expect(row.mdePercent).toBeLessThan(3);
    }
    const { stdout } = await bench(['compare', '--db', db]);
    expect(stdout).toContain('1 outlier night left out of it (6 cells)');
  });

  test('nights of another level say nothing on the first nights of a new one', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const normal = normals(62);
    simulateNights(db, {
      cells: simulatedCells(4),
      nights: 14,
      repeats: 3,
      value: (_cell, night) =>
        Math.exp(0.001 * normal()) * (night < 12 ? 1 : 1.23) * (night < 13 ? 1 : 0.81),
    });
    const { cells } = await compared(db);
    for (const { verdict, noise, mdePercent } of cells) {
      expect(verdict).toBe('faster');
      expect(noise).toMatchObject({ from: 'runs', nights: 0 });
      expect(mdePercent).toBeLessThan(1);
    }
  });
});

test('a slow-down of all cells is a regression, and a new driver that explains it does not excuse it', async () => {
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
  expect(counts).toMatchObject({ slower: 12, faster: 0, same: 0 });
  for (const { reasons } of cells) expect(reasons).toContain('commonShift');
  const { stdout } = await bench(['compare', '--db', db]);
  expect(stdout).toContain('recorded in them: driver 580.1 → 590.2');
  const report = async (format: string) => bench(['report', format, '--db', db]);
  const named = 'all 12 cells share a shift of +';
  for (const format of ['--junit', '--github', '--md']) {
    const { code: exit, stdout: text } = await report(format);
    expect([format, exit]).toEqual([format, 1]);
    expect(text).toContain(format === '--github' ? 'title=common shift::all 12' : named);
  }
  const file = join(temporaryFolder(), 'report.xml');
  const asJson = await bench(['report', '--junit', file, '--json', '--db', db]);
  expect(JSON.parse(asJson.stdout).shift).toEqual(shift);
});
