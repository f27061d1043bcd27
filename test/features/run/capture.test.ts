import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, sharedFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const folder = sharedFolder();

/** The stub's matrix under a name of its own, with these lines. */
function matrix(name: string, ...more: string[]): string {
  stubMatrix(folder, more);
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, readFileSync(join(folder, 'stub.yaml')));
  return path;
}

test('run.capture takes an exact number of queries, of which 11.1 runs one more than it is told', async () => {
  const planned = async (version: string) => {
    const { stdout } = await bench(['plan', matrix('capture', 'run: {capture: 50}'), '--tensorrt', version, '--json']);
    const run = OUTPUTS.plan.parse(JSON.parse(stdout)).runs.find(({ role }) => role === 'timed');
    return run?.argv?.filter((arg) => /^--(?:warmUp|duration|iterations)=/.test(arg));
  };
  expect(await planned('10.6')).toEqual(['--warmUp=0', '--duration=0', '--iterations=50']);
  expect(await planned('11.1')).toEqual(['--warmUp=0', '--duration=0', '--iterations=49']);
  const both = await bench(['plan', matrix('both', 'run: {capture: 50, warmUpMs: 5}'), '--tensorrt', '10.6']);
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('excludes warmUpMs')]);
});

test('captures are marked, and never compared, judged or a baseline', async () => {
  const db = join(folder, 'bench.sqlite');
  const run = (path: string) => bench(['run', path, '--trtexec', STUB, '--no-telemetry', '--db', db], { cwd: folder });
  await run(matrix('usual', 'name: stub', 'repeats: 2'));
  const { stdout } = await run(matrix('capture', 'name: stub', 'repeats: 2', 'run: {capture: 50}'));
  expect(stdout).toContain('capture (4 runs, one of them): 64 queries without a warm-up, as for a profiler');
  const compared = await bench(['compare', 'latest~1', 'latest', '--db', db, '--json']);
  expect(OUTPUTS.compare.parse(JSON.parse(compared.stdout)).counts).toMatchObject({ incomparable: 2, same: 0 });
  const checked = await bench(['check', '--db', db, '--json']);
  const { cells } = OUTPUTS.check.parse(JSON.parse(checked.stdout)).series[0] ?? {};
  expect(cells?.map(({ reason, verdict }) => [verdict, reason])).toEqual([
    ['noResult', 'failed'],
    ['noResult', 'failed'],
  ]);
  const baseline = await bench(['baseline', 'set', 'v1', 'latest', '--db', db]);
  expect([baseline.code, baseline.stderr]).toEqual([2, expect.stringContaining('cannot be a baseline: capture')]);
});
