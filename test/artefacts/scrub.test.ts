import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { scrubFolder } from '../../src/artefacts/keep.ts';
import { temporaryFolder } from '../support/bench.ts';

test('values of secrets go from files in the folder of a run and below it; others stay', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'logs'));
  writeFileSync(join(folder, 'stdout.log'), 'key sk-made-up-0123456789, path /home\n');
  writeFileSync(join(folder, 'logs', 'aiperf.log'), 'Bearer sk-made-up-0123456789\n');
  await scrubFolder(folder, { OPENAI_API_KEY: 'sk-made-up-0123456789', HOME: '/home' });
  expect(readFileSync(join(folder, 'stdout.log'), 'utf8')).toBe('key ***, path /home\n');
  expect(readFileSync(join(folder, 'logs', 'aiperf.log'), 'utf8')).toBe('Bearer ***\n');
});
