import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { benchJson, OUTPUTS } from '../../support/outputs.ts';
import { Repository } from '../../support/repository.ts';
import {
  simulatedCells,
  type SimulatedMachine,
  type SimulatedNights,
  simulateNights,
  sweepOfNight,
} from '../../support/simulated-store.ts';
import { change, queryStore } from '../../support/store-dump.ts';

/** Five runs a tenth of a percent apart. */
const steady = (cell: number, repeat: number): number => (1 + cell) * (1 + 0.001 * ((repeat * 7 + cell * 3) % 5));

/** Cell 0 is 20 % slower from this sweep on. */
const slowFrom =
  (from: number): SimulatedNights['value'] =>
  (cell, night, repeat) =>
    steady(cell, repeat) * (cell === 0 && night >= from ? 1.2 : 1);

class Store {
  readonly folder = temporaryFolder();
  readonly db = join(this.folder, 'bench.sqlite');
  private sweeps = 0;

  /** Adds a sweep of a matrix and a branch. */
  add(
    value: SimulatedNights['value'],
    about: { matrix?: string; branch?: string | null; commit?: string; machine?: SimulatedMachine } = {},
  ): string {
    const { branch = null, commit, machine = {}, matrix = 'nightly' } = about;
    const one = { machine: () => machine, cells: simulatedCells(4), nights: 1, repeats: 5, after: this.sweeps, branch };
    simulateNights(this.db, { ...one, value, commit: () => commit ?? null });
    const sweepId = sweepOfNight(this.sweeps);
    change(this.db, `UPDATE sweeps SET matrix = '${matrix}' WHERE sweep_id = '${sweepId}'`);
    this.sweeps += 1;
    return sweepId;
  }

  check(...args: string[]) {
    return benchJson(OUTPUTS.check, ['check', ...args, '--db', this.db], { cwd: this.folder });
  }
}

describe('the series of a store', () => {
  test('two matrices of one night: checked together or one after the other, the same is said', async () => {
    const [together, apart] = [new Store(), new Store()];
    for (const store of [together, apart]) {
      store.add(slowFrom(2), { matrix: 'a' });
      store.add(slowFrom(9), { matrix: 'b' });
    }
    await apart.check();
    await together.check();
    together.add(slowFrom(2), { matrix: 'a' });
    together.add(slowFrom(9), { matrix: 'b' });
    // The page is of the worst series.
    await bench(['report', '--html', 'page.html', '--db', together.db], { cwd: together.folder });
    const page = readFileSync(join(together.folder, 'page.html'), 'utf8');
    expect(/<h1[^]*?<\/h1>/.exec(page)?.[0]).toMatch(/1 cell slower<\/span> by 20\.0\s%/);
    apart.add(slowFrom(2), { matrix: 'a' });
    await apart.check();
    apart.add(slowFrom(9), { matrix: 'b' });
    const [one, other] = [await together.check(), await apart.check()];
    const expected = ['b: nothing slower', 'a: 1 cell slower: 1 new'];
    for (const { code, json } of [one, other]) {
      expect([code, json.series.map(({ headline, matrix }) => `${matrix}: ${headline}`)]).toEqual([1, expected]);
    }
    for (const [words, text] of [
      [['compare'], 'a · no branch: 1 cell slower: 1 new'],
      [['report', '--md', '-'], '### ▲ 1 cell slower: 1 new\n'],
      [['report', '--junit', '-'], 'failures="1"'],
    ] as const) {
      const said = await bench([...words, '--db', together.db], { cwd: together.folder });
      expect([said.code, said.stdout]).toEqual([1, expect.stringContaining(text)]);
    }
    expect(await together.check('--matrix', 'b')).toMatchObject({ code: 0, json: { series: { length: 1 } } });
    const unknown = await bench(['check', '--matrix', 'c', '--db', together.db], { cwd: together.folder });
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('matrix c: no sweep of it is stored')]);
  });

  test('sweeps that were not judged are all judged, in their order', async () => {
    const store = new Store();
    store.add(slowFrom(99));
    await store.check();
    for (let sweep = 1; sweep < 4; sweep += 1) store.add(slowFrom(2));
    const { code, json } = await store.check();
    expect([code, json.findings]).toMatchObject([1, [{ reportedSweepId: sweepOfNight(2), state: 'new' }]]);
    expect(queryStore(store.db, 'SELECT count(*) AS n FROM judged_sweeps')).toEqual([{ n: 4 }]);
    for (let sweep = 0; sweep < 2; sweep += 1) store.add(slowFrom(2));
    const later = await store.check();
    const expected = [1, [[json.findings[0]?.id, 'open']]];
    expect([later.code, later.json.findings.map(({ id, state }) => [id, state])]).toEqual(expected);
    expect(queryStore(store.db, 'SELECT count(*) AS n FROM judged_sweeps')).toEqual([{ n: 6 }]);
  });

  test('after an old sweep was taken back all later ones are judged again; what was acknowledged keeps its id', async () => {
    const store = new Store();
    for (let sweep = 0; sweep < 6; sweep += 1) {
      store.add(slowFrom(3));
      await store.check();
    }
    const rm = (sweep: number) => bench(['db', 'rm', sweepOfNight(sweep), '--db', store.db], { cwd: store.folder });
    const id = (await store.check()).json.findings[0]?.id ?? '';
    await rm(1);
    expect((await store.check()).json.findings).toMatchObject([
      { id, state: 'open', reportedSweepId: sweepOfNight(3) },
    ]);
    await bench(['ack', id, '--reason', 'tuned for batch 32', '--owner', 'me', '--db', store.db]);
    expect(await rm(2)).toMatchObject({ code: 0, stderr: '' });
    expect(queryStore(store.db, 'SELECT count(*) AS n FROM judged_sweeps')).toEqual([{ n: 4 }]);
    const { code, json } = await store.check();
    const expected = [0, [{ id, state: 'acknowledged', owner: 'me', acknowledged: { reason: 'tuned for batch 32' } }]];
    expect([[code, json.findings], json.findings[0]?.lastGood?.sweepId]).toMatchObject([expected, sweepOfNight(0)]);
    expect(queryStore(store.db, 'SELECT count(*) AS n FROM acknowledgements')).toEqual([{ n: 1 }]);
  });

  test('a series without a sweep for 30 days is one line and no exit code', async () => {
    const store = new Store();
    store.add(slowFrom(1), { matrix: 'old' });
    store.add(slowFrom(1), { matrix: 'old' });
    for (let sweep = 0; sweep < 34; sweep += 1) store.add(slowFrom(99));
    const { code, json } = await store.check();
    expect(code).toBe(0);
    expect(json.series.map(({ matrix, verdict }) => [matrix, verdict])).toEqual([
      ['nightly', 'same'],
      ['old', 'stale'],
    ]);
    const { stdout } = await bench(['check', '--db', store.db], { cwd: store.folder });
    expect(stdout).toContain('old · no branch: no sweep since 2026-01-02: not judged');
  });

  test('a pull request is judged against the branch that it began on, in every push', async () => {
    const repository = new Repository(temporaryFolder());
    const [first, second] = [repository.commit(), repository.commit()];
    const store = new Store();
    store.add(slowFrom(99), { branch: 'main', commit: first });
    const base = store.add(slowFrom(99), { branch: 'main', commit: second });
    const pushed = repository.commit();
    store.add(slowFrom(2), { branch: 'faster-attention', commit: pushed });
    const run = (...args: string[]) =>
      bench(['check', '--db', store.db, '--json', ...args], { cwd: repository.folder });
    const opened = OUTPUTS.check.parse(JSON.parse((await run('--branch', 'faster-attention')).stdout));
    expect(opened.series[0]).toMatchObject({ baseBranch: 'main', verdict: 'slower' });
    expect(opened.findings[0]?.lastGood?.sweepId).toBe(base);
    const again = repository.commit();
    store.add(slowFrom(2), { branch: 'faster-attention', commit: again });
    expect([(await run('--branch', 'faster-attention')).code, (await run('--branch', 'main')).code]).toEqual([1, 0]);
  });

  test('a pull request is not judged by another GPU than its own, also of the same model; a series goes on over them', async () => {
    const repository = new Repository(temporaryFolder());
    const store = new Store();
    const commit = repository.commit();
    const [ours, theirs] = ['GPU-aaaa', 'GPU-bbbb'];
    for (const gpuUuid of [theirs, ours, theirs])
      store.add(slowFrom(99), { branch: 'main', commit, machine: { gpuUuid } });
    const run = async (pushed: string, gpuUuid: string) => {
      store.add(slowFrom(3), { branch: pushed, commit: repository.commit(), machine: { gpuUuid } });
      const [here, at] = [['--db', store.db], { cwd: repository.folder }];
      const { code, json } = await benchJson(OUTPUTS.check, ['check', '--branch', pushed, ...here], at);
      const compared = await benchJson(OUTPUTS.compare, ['compare', commit, 'HEAD', ...here], at);
      const { cells = [], notes = [] } = json.series[0] ?? {};
      const reasons = new Set(cells.map(({ reason }) => reason));
      return { codes: [code, compared.code], reasons, notes, counts: compared.json.counts };
    };
    expect(await run('same', theirs)).toMatchObject({ codes: [1, 1], counts: { slower: 1 } });
    const other = await run('other', 'GPU-cccc');
    expect(other).toMatchObject({ codes: [0, 4], counts: { slower: 0, incomparable: 4 } });
    expect(other.reasons).toEqual(new Set(['new']));
    expect(other.notes[0]).toContain('3 sweeps on another GPU, TensorRT major or locked clock left out');
    store.add(slowFrom(3), { branch: 'main', commit, machine: { gpuUuid: 'GPU-cccc' } });
    const apart = await bench(['compare', 'gpu=GPU-aaaa', 'gpu=GPU-CCCC', '--db', store.db]);
    expect(apart.stdout).toMatch(/^base .* gpu=GPU-aaaa .*\nhead .* gpu=GPU-CCCC /m);
    expect((await bench(['check', '--branch', 'main', '--db', store.db], { cwd: repository.folder })).code).toBe(1);
  });
});

test('another TensorRT says nothing about an open finding', async () => {
  const expected = 'first sweep: nothing to compare with; 1 cell slower: 1 open';
  const store = new Store();
  const said: unknown[] = [];
  for (const tensorrt of ['10.6', '10.6', '10.6', '11.0', '11.0']) {
    store.add(slowFrom(2), { machine: { tensorrt } });
    const { code, json } = await store.check();
    const [{ cells, headline, judgedBy } = { cells: [], headline: '', judgedBy: '' }] = json.series;
    said.push([code, judgedBy, headline, cells[0]?.verdict]);
  }
  expect(said.slice(-2)).toEqual([
    [1, 'first', expected, 'unclear'],
    [1, 'reference', '1 cell slower: 1 open', 'same'],
  ]);
});

test('a cell that is slower in its p99 alone counts beside those that are slower', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const figures = (cell: number, night: number, repeat: number) => {
    return { p99Ms: steady(cell, repeat) * (cell === 1 && night === 8 ? 2.4 : 1.02) };
  };
  simulateNights(db, { cells: simulatedCells(4), nights: 9, repeats: 5, value: slowFrom(8), figures });
  const { stdout } = await bench(['check', '--db', db], { env: { COLUMNS: '200' } });
  expect(stdout).toMatch(/^2 cells slower: 2 new\n/);
  expect(stdout).toContain('▲ 1 slower   ▲ 1 in another metric alone   0 faster   3 same');
  const p99 = await bench(['check', '--metric', 'p99', '--db', db], { env: { COLUMNS: '200' } });
  expect(p99.stdout).toMatch(/latency p99\n▲ 1 slower   ▲ 1 in another metric alone   0 faster   3 same\n/);
  const refused = await bench(['check', '--metric', 'power', '--db', db]);
  const why = '--metric power: bench check judges it in no cell; bench compare and bench trend show it';
  expect([refused.code, refused.stderr]).toEqual([2, `bench: ${why}\n`]);
});

test('a renamed matrix goes on', async () => {
  const store = new Store();
  store.add(slowFrom(1), { matrix: 'old-name' });
  const renamed = store.add(slowFrom(1), { matrix: 'new-name' });
  expect((await store.check('--matrix', 'new-name', '--as-of', renamed)).json.series[0]?.judgedBy).toBe('first');
  const plan = JSON.stringify({ gate: { renamedFrom: 'old-name' } });
  change(store.db, `UPDATE sweeps SET plan = '${plan}' WHERE sweep_id = '${renamed}'`);
  const { code, json } = await store.check('--matrix', 'new-name');
  expect([code, json.series[0]?.sweeps, json.series[0]?.verdict]).toEqual([1, 2, 'slower']);
});

test('sweeps of no branch share a history only where their commits follow one another', async () => {
  const repository = new Repository(temporaryFolder());
  const first = repository.commit();
  const store = new Store();
  store.add(slowFrom(99), { commit: first });
  repository.git('checkout', '--quiet', '--orphan', 'other');
  const other = repository.commit('of another line');
  store.add(slowFrom(1), { commit: other });
  const { stdout } = await bench(['check', '--db', store.db], { cwd: repository.folder });
  expect(stdout.split('\n')[0]).toBe('first sweep: nothing to compare with');
  const elsewhere = await bench(['check', '--db', store.db, '--as-of', sweepOfNight(1)], { cwd: store.folder });
  expect(elsewhere.stdout.split('\n')[0]).toBe('1 cell slower: 1 new');
});

test('two GPU models of one matrix are two series: a good sweep on one does not hide a slow one on the other', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const gpuName = (night: number): string => (night % 2 === 0 ? 'NVIDIA H200' : 'NVIDIA L4');
  const timeOf = (cell: number, night: number, repeat: number): number =>
    (1 + cell + 0.001 * ((7 * night + 3 * repeat) % 5)) *
    (night % 2 === 0 ? 1 : 3) *
    (night === 8 && cell === 0 ? 1.1 : 1);
  simulateNights(db, { cells: simulatedCells(3), nights: 10, repeats: 3, branch: 'main', value: timeOf, gpuName });
  const { code, stdout } = await bench(['check', '--db', db]);
  expect([code, stdout.split('\n').slice(0, 2)]).toEqual([
    1,
    ['nightly · main · NVIDIA H200: 1 cell slower: 1 new', 'nightly · main · NVIDIA L4: nothing slower'],
  ]);
  expect((await benchJson(OUTPUTS.findings, ['ls', 'findings', '--db', db])).json.findings).toMatchObject([
    { state: 'new', reportedSweepId: sweepOfNight(8) },
  ]);
});

test('an acknowledged finding of the last TensorRT does not hide a regression of the new one', async () => {
  const store = new Store();
  const add = (factor: number, tensorrt: string) =>
    store.add((cell, _, repeat) => steady(cell, repeat) * factor, { machine: { tensorrt } });
  for (const factor of [1, 1, 1.05]) add(factor, '10.6.0');
  const [known] = (await store.check()).json.findings;
  await bench(['ack', known?.id ?? '', '--reason', 'x', '--db', store.db], { cwd: store.folder });
  for (const factor of [1, 1, 1.4]) add(factor, '11.0.0');
  const { code, json } = await store.check();
  const states = json.findings.map(({ state, reportedSweepId }) => [state, reportedSweepId]);
  expect([code, states]).toEqual([
    1,
    [
      ['new', sweepOfNight(5)],
      ['acknowledged', sweepOfNight(2)],
    ],
  ]);
});
