import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { describe } from 'vitest';

import { ROOT } from './bench.ts';

/** The real one, from PyPI. */
export const AIPERF = join(ROOT, '.cache', 'aiperf', 'bin', 'aiperf');
const IS_THERE = existsSync(AIPERF);

export const describeWithAiperf = IS_THERE ? describe : describe.skip;

if (!IS_THERE) {
  process.stderr.write('tests with the real AIPerf are skipped; what they need: test/aiperf/install .cache/aiperf\n');
}
