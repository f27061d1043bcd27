import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { addSamplesAndLayers } from '../../benchmarks/html-report.ts';
import { makeLargeStore, RUNS_PER_NIGHT, someCellKey } from '../../benchmarks/large-store.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';

/** All but `detection`, whose figures test/judge/history/targets.test.ts has. */
const OF_ALL = [
  'start-up',
  'parse',
  'memory',
  'stub-loop',
  'ingest',
  'import',
  'inspect',
  'scale',
  'merge',
  'report',
  'nightly',
  'gate',
];

/** What users wait for, or what grows with a store: without its figure nobody would see that it became slower. */
const FIGURES = [
  ['start-up', /^bench compare/],
  ['parse', /wc -l/],
  ['memory', /^bench parse.* verbose log/],
  ['memory', /^bench import.* exported times/],
  ['import', /run folders with their exports/],
  ['import', /^bench import of \d+ logs/],
  ['scale', /^bench check/],
  ['scale', /^bench compare/],
  ['scale', /^bench trend, .* runs of \d+ queries/],
  ['merge', /^bench db merge/],
  ['report', /^bench report --html/],
  ['nightly', /nights, one after the other/],
  ['gate', /^bench check, \d+ cells, \d+ sweeps/],
] as const;

describe('npm run bench:all, small', () => {
  let rows: readonly { readonly benchmark: string; readonly what: string; readonly against: string }[] = [];
  beforeAll(() => {
    // Where a benchmark cannot be measured there is an exit code: that is thrown, with what was printed.
    const args = [join(ROOT, 'benchmarks', 'all.ts'), ...OF_ALL, '--small', '--json'];
    const text = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
    ({ rows } = JSON.parse(text));
  }, 300_000);

  test.each(OF_ALL)('%s', (name) => {
    expect(rows.map(({ benchmark }) => benchmark)).toContain(name);
  });

  test.each(FIGURES)('%s has %s', (name, figure) => {
    const figures = rows.filter(({ benchmark }) => benchmark === name).map((row) => `${row.what} ${row.against}`);
    expect(figures).toContainEqual(expect.stringMatching(figure));
  });
});

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
