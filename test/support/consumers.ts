import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { describe } from 'vitest';

import { ROOT } from './bench.ts';

const PYTHON = join(ROOT, '.cache', 'consumers', 'bin', 'python');
const IS_THERE = existsSync(PYTHON);

/** Tests that hand files to the programs that read them. */
export const describeWithConsumers = IS_THERE ? describe : describe.skip;

if (!IS_THERE) {
  process.stderr.write(
    'tests with the readers of reports are skipped; what they need: test/consumers/install .cache/consumers\n',
  );
}

/** What the reader of a format sees in a file. */
export function readBy(format: 'junit' | 'openmetrics' | 'bmf', file: string): unknown {
  const script = join(ROOT, 'test', 'consumers', 'read.py');
  return JSON.parse(execFileSync(PYTHON, [script, format, file], { encoding: 'utf8' }));
}
