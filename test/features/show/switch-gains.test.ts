import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';

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

test('what transfers cost stands below a sweep that has a cell both ways', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  await bench(['import', join(FIXTURES, 'formats'), '--sweep', 'one', '--db', db]);
  const { stdout } = await bench(['show', 'one', '--db', db], { env: { COLUMNS: '140' } });
  expect(stdout).toContain('transfers: -1.7 % queries/s and +24.6 % latency: resnet_small.fp16 8x3x224x224');
  const json = await bench(['show', 'one', '--json', '--db', db]);
  const [pair] = OUTPUTS.run.parse(JSON.parse(json.stdout)).transferCosts?.pairs ?? [];
  expect([pair?.gainPercent, pair?.latencyChangePercent].map((percent) => percent?.toFixed(1))).toEqual([
    '-1.7',
    '24.6',
  ]);
});
