import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { ciBranch } from '../../src/tools/git/git.ts';
import { OUTPUTS, benchJson, jsonOf } from '../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../support/bench.ts';
import { readFixture } from '../support/recordings.ts';
import { Repository } from '../support/repository.ts';
import { queryStore } from '../support/store-dump.ts';

const PAIRS = 'level0/pairs/vit_small.fp16.b8.graph1';
const MATRIX = join(ROOT, 'matrices', 'quickstart-pair.yaml');

/** Two nights of main, then one of dev, from recorded logs; beside no repository. */
async function storeIn(folder: string): Promise<void> {
  const nights = [
    ['main', '2026-01-01', '01-normal'],
    ['main', '2026-01-02', '02-normal'],
    ['dev', '2026-01-03', '03-normal'],
  ] as const;
  for (const [branch, date, run] of nights) {
    const log = join(folder, `${run}.log`);
    writeFileSync(log, readFixture(`${PAIRS}/${run}/stdout.log.br`));
    const model = ['--model', 'vit_small', '--precision', 'fp16'];
    const { code } = await bench(['import', log, '--branch', branch, '--date', date, '--sweep', date, ...model], {
      cwd: folder,
    });
    expect(code).toBe(0);
  }
}

const NO_MASTER = 'no sweep of branch master is stored';
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

describe('a store without a branch beside it', () => {
  let folder = '';
  const inFolder = (...args: string[]) => bench(args, { cwd: folder });
  beforeAll(async () => {
    folder = sharedFolder();
    await storeIn(folder);
  });

  test('noise takes the series of the newest sweep and says so', async () => {
    const taking = 'no branch is checked out here: taking dev, of which the newest sweep is; --branch takes another';
    expect(oneLine((await inFolder('noise')).stdout)).toContain(taking);
  });

  test.each([
    [['check'], '2026-01-02'],
    [['check', '--as-of', 'latest'], '2026-01-02'],
    [['check', '--as-of', 'latest~1'], '2026-01-01'],
  ])('%j of another branch', async (args, date) => {
    const { code, json } = await benchJson(OUTPUTS.check, [...args, '--branch', 'main'], { cwd: folder });
    const expected = [0, [[date, 'main']]];
    expect([code, json.series.map(({ branch, startedAt }) => [startedAt?.slice(0, 10), branch])]).toEqual(expected);
  });

  test('compare, noise, trend, report and the page of another branch', async () => {
    const main = ['--branch', 'main'];
    const compared = await inFolder('compare', ...main);
    expect(compared.stdout).toMatch(/^nothing slower\nimported · main · sweep [0-9a-f]{8} of 2026-01-02, number 2/);
    expect((await inFolder('noise', ...main)).stdout).toContain('main · imported');
    const points = async (...args: string[]): Promise<number> =>
      JSON.parse((await inFolder('trend', '--by', 'sweep', '--json', ...args)).stdout).cells[0].points.length;
    expect([await points(), await points(...main)]).toEqual([3, 2]);
    expect((await inFolder('report', '--html', 'page.html', '--json', ...main)).code).toBe(0);
  });

  test.each([[['check']], [['trend']], [['report', '--md']]])(
    '%j names a branch of which nothing is stored, and those that are',
    async (args) => {
      const text = `bench: ${NO_MASTER}: name one of \`bench ls sweeps\`, or a branch with --branch\n`;
      expect(await inFolder(...args, '--branch', 'master')).toEqual(refusal(text));
    },
  );

  test('check, compare and report judge every branch, whatever is checked out; noise wants one that was measured', async () => {
    const repository = new Repository(temporaryFolder());
    repository.git('checkout', '--quiet', '-b', 'master');
    cpSync(join(folder, 'bench.sqlite'), join(repository.folder, 'bench.sqlite'));
    const inRepository = (...args: string[]) => bench(args, { cwd: repository.folder });
    const checked = await inRepository('check');
    const expected = 'no matrix · main: nothing slower\nno matrix · dev: first sweep: nothing to compare with\n';
    expect(checked).toMatchObject({ code: 0, stdout: expected });
    expect(await inRepository('compare')).toEqual(checked);
    expect((await inRepository('report', '--md', '-')).stdout).toContain('> no matrix · dev: first sweep: nothing');
    expect(await inRepository('noise')).toEqual(refusal(NO_MASTER));
  });

  test('a branch of a CI job is read as one that is checked out', async () => {
    const of = async (env: Record<string, string>): Promise<string | null> =>
      (await jsonOf(OUTPUTS.run, ['show', 'latest'], { cwd: folder, env })).branch;
    expect(await of({ GITHUB_HEAD_REF: 'main', GITHUB_REF_NAME: '12/merge' })).toBe('main');
    expect(await of({ CI_COMMIT_REF_NAME: 'main' })).toBe('main');
    expect(await of({ GITHUB_HEAD_REF: '', BRANCH_NAME: '' })).toBe('dev');
  });
});

test.each([
  [{ GITHUB_HEAD_REF: 'a', GITHUB_REF_NAME: '1/merge' }, 'a'],
  [{ GITHUB_HEAD_REF: '', GITHUB_REF_NAME: 'main' }, 'main'],
  [{ GITHUB_REF_NAME: 'v1', GITHUB_REF_TYPE: 'tag' }, null],
  [{ CI_COMMIT_REF_NAME: 'v1', CI_COMMIT_TAG: 'v1' }, null],
  [{ CI_COMMIT_REF_NAME: 'dev' }, 'dev'],
  [{ BRANCH_NAME: 'PR-3' }, 'PR-3'],
  [{}, null],
])('the branch of a CI job with %j is %j', (env, branch) => expect(ciBranch(env)).toBe(branch));

describe('what names nothing is refused before anything runs', () => {
  let repository: Repository;
  beforeAll(() => {
    repository = new Repository(sharedFolder());
    repository.commit();
  });
  const stored = (cwd: string): number => {
    const [row] = queryStore<{ n: number }>(join(cwd, 'bench.sqlite'), 'SELECT count(*) AS n FROM sweeps');
    return row?.n ?? 0;
  };

  test.each([
    [['--commit', 'nosuch'], '--commit nosuch: commit not found in this repository'],
    [['--commit', ''], 'It is empty: is its shell variable set?'],
    [['--branch', ' '], 'It is empty: is its shell variable set?'],
  ])('run %j', async (args, words) => {
    const cwd = repository.folder;
    await bench(['run', MATRIX, '--repeats', '1'], { cwd });
    const before = stored(cwd);
    expect(await bench(['run', MATRIX, ...args], { cwd })).toEqual(refusal(words));
    expect(stored(cwd)).toBe(before);
  });

  test('outside of a repository an id of a commit is taken as it is, and a word is not', async () => {
    const cwd = temporaryFolder();
    const run = (commit: string) => bench(['run', MATRIX, '--repeats', '1', '--commit', commit], { cwd });
    const stderr = 'bench: --commit v1.2: there is no git repository here; give the id of a commit\n';
    expect([await run('v1.2'), (await run('deadbeef')).code]).toMatchObject([{ code: 2, stderr }, 0]);
    expect(queryStore(join(cwd, 'bench.sqlite'), 'SELECT git_commit AS id FROM sweeps')).toEqual([{ id: 'deadbeef' }]);
  });

  test('a baseline of an empty word, a side of an empty word', async () => {
    const cwd = temporaryFolder();
    await storeIn(cwd);
    for (const args of [
      ['baseline', 'set', 'v1', ''],
      ['compare', ''],
      ['compare', 'latest', ' '],
    ]) {
      const expected = refusal('bench: the name of a sweep or commit is empty: is its variable set?\n');
      expect([args, await bench(args, { cwd })]).toEqual([args, expected]);
    }
    expect(queryStore(join(cwd, 'bench.sqlite'), 'SELECT count(*) AS n FROM baselines')).toEqual([{ n: 0 }]);
  });
});
