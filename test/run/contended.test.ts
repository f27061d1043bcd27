import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { RunFlag } from '../../src/records/run-flag.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { OUTPUTS } from '../support/outputs.ts';
import { FIXTURES } from '../support/recordings.ts';
import { normals, simulatedCells, simulateNights } from '../support/simulated-store.ts';

const OTHER = 'another process on the GPU: python3 (4711); the mean is 4.2 % over the undisturbed time';
const contended = (effect: RunFlag['effect']): RunFlag => ({ id: 'contended', effect, value: 4.2, evidence: OTHER });
const NIGHTS = 8;

async function checked(db: string) {
  const { code, stdout } = await bench(['check', '--json', '--db', db]);
  const { findings, series } = OUTPUTS.check.parse(JSON.parse(stdout));
  const [{ cells = [], headline = '' } = {}] = series;
  return { code, findings, headline, cells };
}

/**
 * Eight sweeps of four cells; in the last one times are 30 % and p99 330 % higher.
 * @param isShared the runs of the last sweep that shared the GPU
 */
function stored(isShared: (cell: number, repeat: number) => boolean, effect: RunFlag['effect'] = 'explained'): string {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(7);
  const isOff = (cell: number, night: number, repeat: number): boolean =>
    night === NIGHTS - 1 && isShared(cell, repeat);
  simulateNights(db, {
    cells: simulatedCells(4),
    nights: NIGHTS,
    repeats: 3,
    value: (cell, night, repeat) => (isOff(cell, night, repeat) ? 1.3 : 1) * Math.exp(0.002 * normal()),
    figures: (cell, night, repeat) => ({
      p99Ms: (isOff(cell, night, repeat) ? 4.3 : 1) * 1.1 * Math.exp(0.002 * normal()),
    }),
    flags: (cell, night, repeat) => (isOff(cell, night, repeat) ? [contended(effect)] : []),
  });
  return db;
}

test.each(['explained', 'widened'] as const)(
  'another process on the GPU, %s: no result for any metric',
  async (effect) => {
    const { cells, code, findings, headline } = await checked(stored(() => true, effect));
    expect([code, findings, headline]).toEqual([4, [], '4 cells without a result']);
    for (const { notes, reason, verdict } of cells) {
      expect([verdict, reason, notes]).toEqual(['noResult', 'failed', [`contended: ${OTHER}`]]);
    }
  },
);

test('some runs of a cell share the GPU: the others count', async () => {
  const { cells, code, findings, headline } = await checked(stored((cell, repeat) => cell === 0 || repeat === 1));
  expect([code, findings, headline]).toEqual([4, [], 'nothing slower; 1 cell without a result']);
  const first = simulatedCells(1).map(({ key }) => key);
  for (const { key, runs, verdict } of cells) {
    expect([verdict, runs]).toEqual(first.includes(key) ? ['noResult', 0] : ['same', 2]);
  }
});

test('recorded on a shared GPU after two nights: no result, with what shows it', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  for (const folder of ['nights/1', 'nights/2', 'gpu-contended'])
    await bench(['import', join(FIXTURES, folder), '--db', db]);
  const { cells, code, findings, headline } = await checked(db);
  expect([code, findings, headline, cells.length]).toEqual([4, [], '12 cells without a result', 12]);
  for (const { notes, verdict } of cells) {
    expect([verdict, notes]).toEqual([
      'noResult',
      [expect.stringMatching(/^contended: [\d.]+ % of the queries took more/)],
    ]);
  }
  const { stdout } = await bench(['check', '--db', db]);
  expect(stdout).toContain('something else used the GPU: 8.1 % of the queries');
});
