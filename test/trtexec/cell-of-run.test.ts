import { join } from 'node:path';

import { expect, test } from 'vitest';

import { readRunFolder } from '../../src/artefacts/read/read-run.ts';
import { cellOfRun } from '../../src/trtexec/cell-of-run.ts';
import { FIXTURES } from '../support/recordings.ts';

test('how much a run names of its layers is no part of its cell: a profile of it lands beside it', async () => {
  const [run] = await readRunFolder(join(FIXTURES, 'formats', 'default-run'));
  if (run === undefined) throw new Error('no recording');
  const argv = run.manifest.argv ?? [];
  const cell = cellOfRun({}, argv, run.log);
  expect(cellOfRun({}, [...argv, '--profilingVerbosity=detailed', '--separateProfileRun'], run.log)).toEqual(cell);
  expect(cellOfRun({}, [...argv, '--useRuntime=lean'], run.log)).not.toEqual(cell);
});
