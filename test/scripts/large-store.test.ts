import { join } from 'node:path';

import { expect, test } from 'vitest';

import { addSamplesAndLayers } from '../../benchmarks/html-report.ts';
import { makeLargeStore, RUNS_PER_NIGHT, someCellKey } from '../../benchmarks/large-store.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';

const NIGHTS = 3;

test('the stores of the benchmarks are stores of this schema: compared, shown, reported, merged, verified', async () => {
  const folder = temporaryFolder();
  const [one = '', two = ''] = ['one', 'two'].map((name) => join(folder, `${name}.sqlite`));
  for (const path of [one, two]) makeLargeStore(path, NIGHTS);
  addSamplesAndLayers(one);
  const count = 'SELECT count(*) AS runs FROM runs';
  expect(queryStore(one, count)).toEqual([{ runs: NIGHTS * RUNS_PER_NIGHT }]);
  const at = { cwd: folder };
  const compared = await bench(['compare', '--json', '--db', one], at);
  expect(compared.stderr).toBe('');
  expect(JSON.parse(compared.stdout).cells).toHaveLength(RUNS_PER_NIGHT / 5);
  const trend = await bench(['trend', someCellKey(), '--db', one], at);
  expect([trend.code, trend.stderr]).toEqual([0, '']);
  const report = await bench(['report', '--html', 'report.html', '--db', one], at);
  expect([report.code, report.stderr]).toEqual([0, expect.any(String)]);
  const merged = await bench(['db', 'merge', two, '--db', one], at);
  expect([merged.code, merged.stderr]).toEqual([0, '']);
  expect(queryStore(one, count)).toEqual([{ runs: 2 * NIGHTS * RUNS_PER_NIGHT }]);
  const verified = await bench(['db', 'verify', '--db', one], at);
  expect([verified.code, verified.stderr]).toEqual([0, '']);
}, 120_000);
