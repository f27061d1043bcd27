import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../support/bench.ts';

test('the memory that each build took at its peak is a metric', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  for (const matrix of ['quickstart-pair', 'quickstart-pair-opt32']) {
    await bench(['run', join(ROOT, 'matrices', `${matrix}.yaml`), '--filter', 'batch=8', '--db', db]);
  }
  const { stdout } = await bench(['trend', '--metric', 'build-memory', '--by', 'sweep', '--json', '--db', db]);
  expect([...stdout.matchAll(/"value": (\d+)/g)].map(([, value]) => Number(value))).toEqual([28, 34]);
});
