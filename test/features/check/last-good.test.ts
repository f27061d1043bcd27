import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';

test('check names the last sweep at the level before, and sweeps how many there are', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const wobble = (night: number): number => 1 + 0.001 * ((night * 7) % 5);
  simulateNights(db, {
    cells: simulatedCells(1),
    nights: 22,
    repeats: 2,
    value: (_cell, night) => wobble(night) * (night >= 20 ? 2.9 : 1),
  });
  const good = sweepOfNight(19);
  const { stdout } = await bench(['check', '--db', db]);
  expect(stdout).toContain(`last good sweep ${good.slice(0, 8)}`);
  const json = OUTPUTS.check.parse(JSON.parse((await bench(['check', '--json', '--db', db])).stdout));
  expect(json.findings.map(({ firstBad, lastGood }) => [lastGood?.sweepId, firstBad?.sweepId])).toEqual([
    [good, sweepOfNight(20)],
  ]);
  const listed = (await bench(['ls', 'sweeps', '--last', '5', '--db', db])).stdout;
  expect(listed).toContain('5 of 22 sweeps: --last 22 shows all\n');
  expect((await bench(['ls', 'sweeps', '--last', '22', '--db', db])).stdout).not.toContain(' of 22 ');
});
