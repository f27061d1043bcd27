import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { ROOT } from './bench.ts';

/** Standard output of a recorded run among the fixtures. */
export function recordedLog(folder: string): string {
  const path = join(ROOT, 'test/fixtures/trtexec', folder, 'stdout.log.br');
  return brotliDecompressSync(readFileSync(path)).toString('utf8');
}
