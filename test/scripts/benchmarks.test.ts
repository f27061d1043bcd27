import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { drawMatrix } from '../../benchmarks/cost/draw.ts';
import { realChanges } from '../../benchmarks/cost/real-changes.ts';
import { readVisits } from '../../benchmarks/cost/real-runs.ts';
import { Random } from '../../benchmarks/detection/random.ts';
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
  'cost',
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
    ({ rows } = JSON.parse(node(['all.ts', ...OF_ALL, '--small', '--json'])));
  }, 300_000);

  test.each(OF_ALL)('%s', (name) => {
    expect(rows.map(({ benchmark }) => benchmark)).toContain(name);
  });

  test.each(FIGURES)('%s has %s', (name, figure) => {
    const figures = rows.filter(({ benchmark }) => benchmark === name).map((row) => `${row.what} ${row.against}`);
    expect(figures).toContainEqual(expect.stringMatching(figure));
  });
});

/** Of kills, fuzz, verdicts and why other tests do a small part. */
test.each([
  ['locks.ts', '40', '2'],
  ['bisect.ts', '1'],
  ['adaptive-repeats.ts', '1'],
  ['latency-search.ts', '1'],
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

const [h100, , slower] = readVisits();
if (h100 === undefined || slower === undefined) throw new Error('no runs');

describe('benchmarks/cost.ts', () => {
  test('no run is on two sides', () => {
    for (let seed = 0; seed < 22; seed += 1) {
      for (const { base, before, newest, pairsAfter } of drawMatrix(h100, new Random(seed), 1)) {
        const sides = [...before, ...base, ...newest];
        expect(new Set(sides).size).toBe(22);
        const paired = pairsAfter(3).flatMap((pair) => [pair.newest, pair.lastGood]);
        expect(new Set([...base.slice(-9), ...newest.slice(0, 3), ...paired]).size).toBe(22);
      }
    }
  });

  test('a change is a factor on the newest runs of no cell, of one, or of a model', () => {
    const changedIn = Array.from({ length: 12 }, (_, seed) => {
      const [plain = [], changed = []] = [1, 1.02].map((factor) => drawMatrix(h100, new Random(seed), factor));
      return changed.filter(({ base, isChanged, newest, pairsAfter }, place) => {
        const same = plain[place];
        expect(base).toEqual(same?.base);
        const [own, other] = [
          [...newest, ...pairsAfter(2).map((pair) => pair.newest)],
          [...(same?.newest ?? []), ...(same?.pairsAfter(2).map((pair) => pair.newest) ?? [])],
        ];
        expect(own.map(({ ms }) => ms)).toEqual(other.map(({ ms }) => (isChanged ? 1.02 : 1) * ms));
        return isChanged;
      }).length;
    });
    expect(new Set(changedIn)).toEqual(new Set([0, 1, 5]));
  });

  test('models that were really slower', () => {
    expect(
      realChanges(slower).map(({ found, falseCalls, percent, replaced, way }) => {
        return [way, ...percent.map((one) => Number(one.toFixed(2))), found, replaced, falseCalls];
      }),
    ).toEqual([
      ['--repeats 2, compare', 1.46, 2.42, 5, 5, 0],
      ['--repeats 2, check', 1.46, 2.42, 5, 5, 0],
      ['--repeats 2 --confirm, check', 1.46, 2.42, 5, 5, 0],
      ['--repeats 2, compare', 3.85, 4.76, 5, 5, 0],
      ['--repeats 2, check', 3.85, 4.76, 5, 5, 0],
    ]);
  });
});
