import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { ROOT } from '../support/bench.ts';

/** All but `detection`, whose figures test/judge/history/targets.test.ts has. */
const OF_ALL = 'start-up parse memory stub-loop import inspect scale merge report nightly gate'.split(' ');

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
    ({ rows } = JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })));
  }, 300_000);

  test.each(OF_ALL)('%s', (name) => expect(rows.map(({ benchmark }) => benchmark)).toContain(name));

  test.each(FIGURES)('%s has %s', (name, figure) => {
    const figures = rows.filter(({ benchmark }) => benchmark === name).map((row) => `${row.what} ${row.against}`);
    expect(figures).toContainEqual(expect.stringMatching(figure));
  });
});
