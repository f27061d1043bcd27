import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { bench, sharedFolder } from '../../support/bench.ts';
import { storeIn } from '../../support/made-stores.ts';
import { OUTPUTS } from '../../support/outputs.ts';

let folder: string;

const here = (...args: readonly string[]) => bench([...args, '--db', join(folder, 'bench.sqlite')], { cwd: folder });

beforeAll(async () => {
  folder = sharedFolder();
  await storeIn(folder, 'pairs');
}, 60_000);

test('a finding is shown by its id, as check says it, with all its numbers and who accepted it', async () => {
  const [reported] = OUTPUTS.check.parse(JSON.parse((await here('check', '--json')).stdout)).findings;
  const id = reported?.id.slice(0, 8) ?? '';
  const { schemaVersion: _, ...shown } = OUTPUTS['show-finding'].parse(
    JSON.parse((await here('show', id, '--json')).stdout),
  );
  expect(shown).toEqual(reported);
  await here('ack', id, '--reason', 'wanted for batch 32');
  const { stdout } = await here('show', id);
  expect(stdout).toContain(`▲ ${id} 2 cells slower by 15.8 to 25.5 %, since `);
  expect(stdout).toMatch(/^ {2}acknowledged on \d{4}-\d\d-\d\d: wanted for batch 32$/m);
  expect(stdout).toMatch(/^vit_small +fp16 +b1 +GPU compute time +0.3533 ms +0.4434 ms +\+25.5 %$/m);
  expect(stdout).toMatch(/^vit_small +fp16 +b8 +throughput +2420 +qps +2088 +qps +-13.7 %$/m);
});
