import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { readWhole } from '../../src/files/files.ts';
import { compressFolder } from '../../src/artefacts/keep.ts';
import { temporaryFolder } from '../support/bench.ts';

test('compresses what a run wrote; run.json stays readable, and twice changes nothing', async () => {
  const folder = temporaryFolder();
  for (const name of ['stdout.log', 'times.json', 'run.json']) writeFileSync(join(folder, name), `content of ${name}`);
  await compressFolder(folder);
  await compressFolder(folder);
  expect(readdirSync(folder).toSorted()).toEqual(['run.json', 'stdout.log.zst', 'times.json.zst']);
  expect((await readWhole(join(folder, 'times.json.zst'))).toString()).toBe('content of times.json');
});
