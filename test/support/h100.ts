import { join } from 'node:path';

import { ROOT } from './bench.ts';

/**
 * Run folders as `bench run` kept them on an H100 (trtexec 10.6.0, driver 580.159.04); see docs/how-to/store.md. Of the
 * times of the queries the stamps of the copies are left out, for size.
 */
export const H100 = join(ROOT, 'test', 'fixtures', 'h100');
