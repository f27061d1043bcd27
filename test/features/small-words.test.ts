import { join } from 'node:path';

import { expect, test } from 'vitest';

import { OUTPUTS } from '../support/outputs.ts';
import { makeLook } from '../../src/terminal/look.ts';
import { machineLines } from '../../src/terminal/machine-text.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { FIXTURES } from '../support/recordings.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../support/simulated-store.ts';

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
  expect(stdout).toContain(`bench compare ${good.slice(0, 8)} latest`);
  const json = OUTPUTS.check.parse(JSON.parse((await bench(['check', '--json', '--db', db])).stdout));
  expect(json.off.map(({ nights, lastGoodSweepId }) => [nights, lastGoodSweepId])).toEqual([[2, good]]);
  const listed = (await bench(['ls', 'sweeps', '--last', '5', '--db', db])).stdout;
  expect(listed).toContain('5 of 22 sweeps: --last 22 shows all\n');
  expect((await bench(['ls', 'sweeps', '--last', '22', '--db', db])).stdout).not.toContain(' of 22 ');
});

test('a host without CPUs says nothing of what a CUDA graph gains', async () => {
  const gains = async (folder: string): Promise<unknown> => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    await bench(['import', join(FIXTURES, folder), '--sweep', 'one', '--db', db]);
    const { stdout } = await bench(['show', 'one', '--json', '--db', db]);
    const pairs = OUTPUTS.run.parse(JSON.parse(stdout)).graphGains?.pairs ?? [];
    return pairs.map(({ gainPercent }) => Number(gainPercent.toFixed(1)));
  };
  expect(await gains('cpu-contended')).toEqual([]);
  expect(await gains(join('nights', '1'))).toEqual([16.2, 13.2]);
});

test('a library whose name has no more than the major version is no other version', () => {
  const text = (tensorrtLibrary: string): string =>
    machineLines({ tensorrt: '10.6.0', tensorrtLibrary }, null, makeLook(120, false)).join('\n');
  expect(text('10')).not.toContain('library');
  expect(text('10.6.0')).not.toContain('library');
  expect(text('10.5.0')).toContain('library 10.5.0');
  expect(text('11')).toContain('library 11');
});
