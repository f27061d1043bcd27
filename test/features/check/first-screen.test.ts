import { join } from 'node:path';

import { expect, test } from 'vitest';

import { textWidth } from '../../../src/terminal/text-width.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { Repository } from '../../support/repository.ts';
import {
  normals,
  simulatedCells,
  simulateNights,
  type SimulatedNights,
  sweepOfNight,
} from '../../support/simulated-store.ts';

const SWEEPS = 60;
const FROM = 55;

type Story = Pick<SimulatedNights, 'driver'> & { readonly factor: (cell: number) => number };

/** The first 24 lines at 80 columns, of a series whose commits are in git. */
async function firstLines(cells: number, { driver, factor }: Story) {
  const repository = new Repository(temporaryFolder());
  const commits = Array.from({ length: SWEEPS }, () => repository.commit());
  const normal = normals(cells);
  simulateNights(join(repository.folder, 'bench.sqlite'), {
    cells: simulatedCells(cells),
    nights: SWEEPS,
    repeats: 3,
    branch: 'main',
    commit: (night) => commits[night] ?? null,
    ...(driver === undefined ? {} : { driver }),
    value: (cell, night) => (0.5 + 0.1 * cell) * (night >= FROM ? factor(cell) : 1) * Math.exp(0.003 * normal()),
  });
  const env = { ...process.env, COLUMNS: '80' };
  const { code, stdout } = await bench(['check'], { cwd: repository.folder, env });
  const lines = stdout.split('\n');
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(80);
  const { stdout: why } = await bench(['why', ...(/bench why (.*?) ·/s.exec(stdout)?.[1] ?? '').split(/\s+/)], {
    cwd: repository.folder,
    env,
  });
  return { code, why, text: lines.slice(0, 24).join('\n'), bad: commits[FROM] ?? '', good: commits[FROM - 1] ?? '' };
}

const NEXT = `bench compare ${sweepOfNight(FROM - 1).slice(0, 8)} ${sweepOfNight(FROM).slice(0, 8)}`;

test('one group: what, how much, since which commit, how sure, what to do next', async () => {
  const { bad, code, good, text, why } = await firstLines(24, { factor: (cell) => (cell % 2 === 1 ? 1.05 : 1) });
  expect(code).toBe(1);
  expect(text).toMatch(/^12 slower$/m);
  expect(text).toMatch(/12 of 24 cells slower by 4\.\d to 5\.\d %: all fp8, since 2026-02-25/);
  expect(text).toContain(`first bad ${bad.slice(0, 8)} "change ${FROM}", last good ${good.slice(0, 8)} (1 commit)`);
  expect(text).toContain('confirmed in GPU compute time by its history, 5 sweeps at the new level');
  expect(text.replace(/\s+/g, ' ')).toContain(NEXT);
  expect(text).toMatch(/next: bench why [0-9a-f]{8} ·/);
  expect(why).toMatch(/GPU compute time.*\+[45]\.\d %/);
}, 60_000);

test('one cell', async () => {
  const { bad, code, text } = await firstLines(8, { factor: (cell) => (cell === 3 ? 1.08 : 1) });
  expect(code).toBe(1);
  expect(text).toMatch(/vit fp8 4x3x224x224 graph slower by [78]\.\d %, since/);
  expect(text).toContain(`first bad ${bad.slice(0, 8)}`);
  expect(text).toContain('confirmed in GPU compute time');
  expect(text.replace(/\s+/g, ' ')).toContain(NEXT);
}, 60_000);

test('all cells with a new driver: it is named before the commit', async () => {
  const { bad, text } = await firstLines(8, {
    factor: () => 1.04,
    driver: (night) => (night >= FROM ? '590.2' : '580.1'),
  });
  expect(text).toMatch(/8 cells slower by [34]\.\d to 4\.\d %: all cells, since/);
  expect(text).toContain('driver 580.1 → 590.2');
  expect(text).toContain(bad.slice(0, 8));
  expect(text.indexOf('driver 580.1')).toBeLessThan(text.indexOf(bad.slice(0, 8), text.indexOf('\n▲')));
}, 60_000);
