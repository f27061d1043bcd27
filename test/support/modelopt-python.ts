import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { describe } from 'vitest';

import { ROOT } from './bench.ts';

const BROUGHT = join(ROOT, '.cache', 'modelopt', 'bin', 'python');

/** A Python with ModelOpt: `$BENCH_TEST_PYTHON`, else the one that was brought; null when there is none. */
export const MODELOPT_PYTHON: string | null =
  process.env['BENCH_TEST_PYTHON'] ?? (existsSync(BROUGHT) ? BROUGHT : null);

/** Tests that start the real ModelOpt. */
export const describeWithModelopt = MODELOPT_PYTHON === null ? describe.skip : describe;

if (MODELOPT_PYTHON === null) {
  process.stderr.write(
    'tests of the real ModelOpt are skipped; what they need: test/modelopt/install .cache/modelopt\n',
  );
}
