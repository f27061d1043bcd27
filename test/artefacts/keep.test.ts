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

test('what a kill left half-written is thrown away, and written again', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'stdout.log'), 'whole');
  writeFileSync(join(folder, 'stdout.log.zst'), 'of an earlier try');
  writeFileSync(join(folder, 'stderr.log.zst.tmp-4181'), '');
  writeFileSync(join(folder, 'stderr.log'), 'also whole');
  await compressFolder(folder);
  expect(readdirSync(folder).toSorted()).toEqual(['stderr.log.zst', 'stdout.log.zst']);
  expect((await readWhole(join(folder, 'stdout.log.zst'))).toString()).toBe('whole');
});
