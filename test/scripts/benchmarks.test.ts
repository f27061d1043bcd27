import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { ROOT } from '../support/bench.ts';

/** All but `detection`, whose figures test/judge/history/targets.test.ts has. */
const OF_ALL = [
  'start-up',
  'parse',
  'times',
  'memory',
  'stub-loop',
  'engine-sharing',
  'ingest',
  'import',
  'collect',
  'store-size',
  'inspect',
  'scale',
  'merge',
  'report',
  'nightly',
  'gate',
  'cost',
];

describe('npm run bench:all, small', () => {
  let measured: ReadonlySet<string>;
  beforeAll(() => {
    const { rows }: { rows: { benchmark: string }[] } = JSON.parse(node(['all.ts', ...OF_ALL, '--small', '--json']));
    measured = new Set(rows.map(({ benchmark }) => benchmark));
  }, 120_000);

  test.each(OF_ALL)('%s', (name) => {
    expect(measured).toContain(name);
  });
});

/** Of kills, fuzz, flips, verdicts and why other tests do a small part. */
test.each([
  ['locks.ts', '40', '2'],
  ['fleet.ts', '--small'],
  ['bisect.ts', '1'],
  ['adaptive-repeats.ts', '1'],
])('%s, small', (...script) => {
  expect(node(script)).not.toBe('');
});

/** Where a benchmark cannot be measured there is an exit code: that is thrown, with what was printed. */
function node([script = '', ...args]: readonly string[]): string {
  return execFileSync(process.execPath, [join(ROOT, 'benchmarks', script), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}
