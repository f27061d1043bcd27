import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { benchJson, jsonOf, OUTPUTS } from '../../support/outputs.ts';
import { simulatedStore, storeIn } from '../../support/made-stores.ts';
import { keyedCell } from '../../../src/records/cell.ts';
import { Repository } from '../../support/repository.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';

const MATRICES = join(ROOT, 'matrices');
const PAIR = join(MATRICES, 'quickstart-pair.yaml');
const OPT32 = join(MATRICES, 'quickstart-pair-opt32.yaml');

describe('on a repository in which one commit made two cells slower', () => {
  let repository: Repository;
  let db: string;
  let commits: string[];

  const start = (...args: string[]) => bench([...args, '--db', db], { cwd: repository.folder });
  const compare = (...args: string[]) =>
    benchJson(OUTPUTS.compare, ['compare', ...args, '--db', db], { cwd: repository.folder });

  // first: measured · second: not measured · third: measured, slower · fourth: not measured
  beforeAll(async () => {
    repository = new Repository(sharedFolder());
    db = join(repository.folder, 'bench.sqlite');
    commits = [repository.commit()];
    await start('run', PAIR);
    commits.push(repository.commit(), repository.commit());
    await start('run', OPT32);
    commits.push(repository.commit());
  }, 60_000);

  test('the regression is found with its size, in a tree with uncommitted changes', async () => {
    repository.makeDirty();
    const { code, json } = await compare('HEAD~3', 'HEAD~1');
    expect(code).toBe(1);
    expect(json).toMatchObject({
      baseRef: 'HEAD~3',
      headRef: 'HEAD~1',
      base: { commit: commits[0], note: null },
      head: { commit: commits[2], note: null },
      provenance: 'recorded',
      counts: { slower: 2, faster: 0, same: 0, unclear: 0 },
    });
    const [b1, b8] = json.cells.toSorted((a, b) => a.label.localeCompare(b.label));
    expect([b1?.changePercent, b8?.changePercent]).toEqual([expect.closeTo(25.5, 1), expect.closeTo(15.8, 1)]);
    for (const cell of json.cells) {
      expect(cell.runs).toEqual([5, 5]);
      expect(cell.ciPercent?.[0]).toBeGreaterThan((cell.changePercent ?? 0) - 0.5);
      expect(cell.ciPercent?.[1]).toBeLessThan((cell.changePercent ?? 0) + 0.5);
      expect(cell.mdePercent).toBeLessThan(1);
      expect(cell.reasons).toContain('build: --optShapes=input:8x3x224x224 → --optShapes=input:32x3x224x224');
    }
  });

  test('a revision without results falls back to its nearest measured ancestor, and says so', async () => {
    const { json } = await compare('HEAD~2', 'HEAD');
    expect(json.base).toMatchObject({
      commit: commits[0],
      note: `HEAD~2 (${commits[1]?.slice(0, 8)}) was not measured: taking ${commits[0]?.slice(0, 8)}, the commit before it`,
    });
    expect(json.head).toMatchObject({ commit: commits[2], note: expect.stringContaining('the commit before it') });
  });

  test('BASE alone takes as HEAD the newest results at or before the commit that is checked out', async () => {
    expect((await compare('HEAD~3')).json.head.commit).toBe(commits[2]);
    repository.git('checkout', '--quiet', '--force', commits[1] ?? '');
    const earlier = await start('compare', commits[0] ?? '');
    repository.git('checkout', '--quiet', '--force', 'main');
    expect(earlier).toEqual(refusal(`taking ${commits[0]?.slice(0, 8)}, the commit before it`));
  });

  test.each([
    ['a range', ['HEAD~3..HEAD']],
    ['an open range', ['HEAD~3..']],
    ['the point where two lines parted', ['HEAD~3...HEAD']],
    ['latest', ['latest~1', 'latest']],
  ])('%s', async (_, args) => {
    const { code, json } = await compare(...args);
    expect([json.base.commit, json.head.commit, code]).toEqual([commits[0], commits[2], 1]);
  });

  test('sweep ids and their beginnings, and a baseline', async () => {
    const sweeps = queryStore<{ id: string }>(db, 'SELECT sweep_id AS id FROM sweeps ORDER BY started_at');
    const [base = '', head = ''] = sweeps.map(({ id }) => id);
    expect((await compare(base.slice(0, 8), head)).json.counts.slower).toBe(2);
    await start('baseline', 'set', 'v1.2', 'HEAD~3');
    const { json } = await compare('baseline:v1.2', 'latest');
    expect(JSON.parse((await start('baseline', 'show', 'v1.2', '--json')).stdout)).toMatchObject({ sweepId: base });
    expect([json.base.sweepIds, json.counts.slower]).toEqual([[base], 2]);
    const text = `baseline v1.2 names sweep ${base.slice(0, 8)} since 2026-`;
    expect(await start('baseline', 'set', 'v1.2', 'latest')).toEqual(refusal(text));
    expect(await start('baseline', 'set', 'v1..v2', 'latest')).toEqual(refusal("v1..v2: a baseline's name has"));
    const forced = await start('baseline', 'set', 'v1.2', 'latest', '--force');
    expect(forced.stdout).toContain(`baseline v1.2 is sweep ${head.slice(0, 8)}`);
  });

  test('a shallow clone: commits of the store can be named, and others are refused with the way to get them', async () => {
    const clone = join(temporaryFolder(), 'clone');
    repository.git('clone', '--quiet', '--depth', '2', `file://${repository.folder}`, clone);
    const inClone = (...args: string[]) => bench(['compare', ...args, '--db', db], { cwd: clone });
    const hint = 'this clone is shallow: fetch the whole history (git fetch --unshallow; fetch-depth: 0 in CI)';
    expect(await inClone('HEAD~3')).toEqual(refusal(`(${hint})`));
    const sides = ['compare', commits[0]?.slice(0, 8) ?? '', 'HEAD', '--db', db];
    const { code, json } = await benchJson(OUTPUTS.compare, sides, { cwd: clone });
    expect([code, json.base.commit, json.head.commit]).toEqual([1, commits[0], commits[2]]);
    repository.git('-C', clone, 'fetch', '--quiet', '--depth', '1');
    expect(await inClone('HEAD')).toEqual(refusal(`neither it nor any commit before it was measured; ${hint}`));
  });

  test('a range behind an option with an optional file is the sides, not a file', async () => {
    const range = `${commits[0]}..${commits[2]}`;
    const ranged = await start('report', '--md', range);
    expect(ranged).toEqual(await start('report', range, '--md'));
    expect(ranged.stdout).toMatch(/^### ▲ 2 of 2 cells slower/);
  });

  test('faster the other way round', async () => {
    const { code, json } = await compare('latest', 'latest~1');
    expect([code, json.counts]).toMatchObject([0, { faster: 2, slower: 0 }]);
  });

  test.each([
    [['latest', 'latest']],
    [['HEAD', 'HEAD']],
    // Neither is measured: both fall back to the same sweep.
    [['HEAD~2', 'HEAD~3']],
  ])('%j is one sweep on both sides: no verdict', async (args) => {
    expect(await start('compare', ...args)).toEqual(refusal('both sides are sweep'));
  });

  test('the name of a baseline is enough; a git revision of that name wins, and that is said', async () => {
    await start('baseline', 'set', 'v1', 'latest~1');
    const { json } = await compare('v1', 'latest');
    expect([json.baseRef, json.base.sweepIds]).toEqual(['baseline:v1', (await compare('latest~1')).json.base.sweepIds]);
    await start('baseline', 'set', 'main', 'latest~1');
    expect((await compare('baseline:main', 'main')).json.head.note).toContain('the baseline is baseline:main');
  });

  test.each([
    [['nonsense'], 'neither a git revision here, nor a sweep'],
    [['baseline:none'], 'baseline not found'],
    [['latest~9'], 'only 2 sweeps of '],
    [['/', 'latest'], '; a path goes only with another path'],
    [['HEAD~99'], 'neither a git revision here, nor a sweep'],
    [['latest~1', 'latest', '--filter', 'batch=3'], 'neither side has a matching cell'],
    [['latest~1', 'latest', '--filter', 'bach=3'], 'did you mean "batch"'],
  ])('%j is one clear line', async (args, message) => {
    expect(await start('compare', ...args)).toEqual(refusal(message));
  });
});

test('two nights with one run a side: every cell is unclear, none slower or faster, each with what would settle it', async () => {
  const db = await storeIn(temporaryFolder(), 'nights');
  const { code, json } = await benchJson(OUTPUTS.compare, ['compare', 'latest~1', 'latest', '--db', db]);
  expect([code, json.counts]).toMatchObject([0, { slower: 0, faster: 0, same: 0, unclear: 24 }]);
  for (const cell of json.cells) {
    expect(cell.runs).toEqual([1, 1]);
    expect(cell.mdePercent).toBeGreaterThan(0);
    expect(cell.moreRunsNeeded).toBeGreaterThan(0);
  }
  expect((await bench(['compare', 'latest~1', 'latest', '--db', db, '--fail-on', 'regression,unclear'])).code).toBe(5);
  // Against their references, with what other cells say of the noise, they are judged.
  const judged = await jsonOf(OUTPUTS.compare, ['compare', '--db', db]);
  expect(judged.counts).toMatchObject({ slower: 0, faster: 0, same: 24, unclear: 0 });
  for (const cell of judged.cells) {
    expect(cell.runs[1]).toBe(1);
    expect(cell.mdePercent).toBeGreaterThan(0);
  }
}, 60_000);

test('results of different provenance are compared only when asked', async () => {
  const db = await storeIn(temporaryFolder(), 'pair');
  const log = join(ROOT, 'test/fixtures/guide/listing-06-fp16-summary.log');
  await bench(['import', log, '--sweep', 'guide', '--db', db]);
  const { counts } = await jsonOf(OUTPUTS.compare, ['compare', 'latest', 'guide', '--db', db]);
  expect(counts).toMatchObject({ slower: 0, faster: 0, same: 0 });
});

test('a revision that measured several matrices stands for the one that the other side has', async () => {
  const folder = temporaryFolder();
  const repository = new Repository(folder);
  const run = (name: string) => bench(['run', join(ROOT, 'matrices', `${name}.yaml`)], { cwd: folder });
  repository.commit();
  await run('quickstart-pair');
  repository.commit();
  // Its name is that of the matrix before: the same cells with another engine.
  await run('quickstart-pair-opt32');
  await run('quickstart');
  for (const sides of [['HEAD~1'], ['HEAD~1', 'HEAD'], ['HEAD~1', 'latest']]) {
    const { code, json } = await benchJson(OUTPUTS.compare, ['compare', ...sides], { cwd: folder });
    expect([sides, code, json.counts]).toMatchObject([sides, 1, { slower: 2, missing: 0 }]);
  }
  const [newest] = JSON.parse((await bench(['ls', 'sweeps', '--json'], { cwd: folder })).stdout).sweeps;
  const two = await bench(['compare', 'HEAD~1', newest.sweepId], { cwd: folder });
  expect(two.stdout).toContain('two matrices, quickstart-pair and quickstart: only cells that both have are compared');
});

test('of many cells on one side only: a number and the first few, whatever else is known of each', async () => {
  const contended = { id: 'contended', effect: 'excluded', value: null } as const;
  const flags = (cell: number, _: number, repeat: number) =>
    repeat === 1 ? [{ ...contended, evidence: `by ${cell + 1} others` }] : [];
  const story = { repeats: 3, nights: 1, value: () => 1, flags };
  const db = simulatedStore({ ...story, cells: simulatedCells(1) });
  simulateNights(db, { ...story, cells: simulatedCells(15), after: 1 });
  const { stdout } = await bench(['compare', 'latest~1', 'latest', '--db', db]);
  expect(stdout.replaceAll(/\n +/g, ' ')).toMatch(
    /\n14 cells on one side only: (?:vit fp\d+ \d+x3x224x224 graph \(only in head\), ){3}11 more\n/,
  );
});

test('cells on one side only are named with their side', async () => {
  const cwd = temporaryFolder();
  await bench(['run', PAIR, '--filter', 'batch=1', '--repeats', '1'], { cwd });
  await bench(['run', PAIR, '--repeats', '1'], { cwd });
  const { stdout } = await bench(['compare', 'latest~1', 'latest'], { cwd });
  expect(stdout).toContain('\n1 cell on one side only: vit_small fp16 8x3x224x224 graph transfers (only in head)\n');
});

test('with several streams, a change of throughput is called, and none of a time', async () => {
  const cells = simulatedCells(1).map((cell) => keyedCell({ ...cell, streams: 2 }));
  const value = (_: number, night: number, repeat: number): number => (1 + 0.2 * night) * (1 + 0.001 * (repeat % 3));
  const args = ['compare', 'latest~1', 'latest', '--db', simulatedStore({ cells, nights: 2, repeats: 5, value })];
  expect(await benchJson(OUTPUTS.compare, args)).toMatchObject({ code: 1, json: { counts: { slower: 1 } } });
  expect(await benchJson(OUTPUTS.compare, [...args, '--metric', 'gpu'])).toMatchObject({
    code: 0,
    json: { cells: [{ verdict: 'unclear', reasons: ['the times of several streams overlap'] }] },
  });
  const why = (await bench(['why', cells[0]?.key ?? '', ...args.slice(1)])).stdout;
  expect(why).toMatch(/^throughput -16\.7 %/);
});
