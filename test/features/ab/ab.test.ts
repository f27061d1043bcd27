import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { OUTPUTS, benchJson } from '../../support/outputs.ts';
import { bench, sharedFolder, temporaryFolder, refusal, temporaryStore } from '../../support/bench.ts';
import type { BenchOptions } from '../../support/bench.ts';
import { fakeHarnessMatrix } from '../../support/fake-harness.ts';
import { queryStore, firstId } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const PERFECT = ['--experiment', 'perfect-router', '--no-telemetry'];

async function printed(args: readonly string[], options: BenchOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await bench(args, options);
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  return stdout;
}

function flagsIn(db: string): unknown {
  return queryStore(
    db,
    `SELECT axis_flags AS axisFlags, flag, effect, count(*) AS runs FROM runs JOIN run_flags USING (run_id)
     JOIN cells USING (cell_key) WHERE effect = 'barred' GROUP BY 1, 2, 3 ORDER BY 1, 2`,
  );
}

const MARKED = [
  { axisFlags: '{"env.ENABLE_PERFECT_ROUTER":"1"}', flag: 'invalidOutput', effect: 'barred', runs: 5 },
  { axisFlags: '{"env.ENABLE_PERFECT_ROUTER":"1"}', flag: 'upperBound', effect: 'barred', runs: 5 },
];

// AT-14: normal 100 against perfect 108, 112 and 110 runs/s, 1 % noise, five repeats, threshold 10 %.
test.each([
  [112, 'significant', /significant: a bottleneck \(\+12\.\d %/],
  [108, 'notABottleneck', /not a bottleneck \(\+[78]\.\d %/],
  [110, 'unclear', /unclear, \d+ more repeats per side would settle it \(\+10\.\d %/],
] as const)('the perfect router: at %i runs/s is %s', async (perfect, verdict, words) => {
  const { folder, db } = temporaryStore();
  const { code, stdout, stderr } = await bench(
    ['ab', fakeHarnessMatrix(folder, perfect), ...PERFECT, '--seed', '1', '--fail-on', 'unclear', '--db', db],
    { env: { COLUMNS: '200' } },
  );
  expect([code, stderr.includes('bench:')]).toEqual([verdict === 'unclear' ? 5 : 0, false]);
  expect(stdout).toMatch(words);
  const read = JSON.parse(await printed(['ab', 'perfect-router', '--db', db, '--json']));
  expect(OUTPUTS.ab.safeParse(read).error?.issues ?? []).toEqual([]);
  expect(read).toMatchObject({
    name: 'perfect-router',
    significantPercent: 10,
    marks: ['upperBound', 'invalidOutput'],
    variables: { ENABLE_PERFECT_ROUTER: '1' },
    cells: [{ verdict, runs: [5, 5], unit: 'runs/s', betterIs: 'higher' }],
    overall: { verdict },
  });
  expect(read.overall.moreRepeats === null).toBe(verdict !== 'unclear');
  // Neighbours in each round, in turns.
  const calls = readFileSync(join(folder, 'calls'), 'utf8');
  expect(['ABBAABBAAB', 'BAABBAABBA']).toContain(calls);
});

describe('what is stored of an experiment', () => {
  const folder = sharedFolder();
  const db = join(folder, 'bench.sqlite');
  const here = ['--db', db];
  let id = '';

  test('is shown again, by its name and by its sweep', async () => {
    const args = ['ab', fakeHarnessMatrix(folder, 112), ...PERFECT, '--name', 'routing', '--seed', '1', ...here];
    const first = await printed(args);
    expect(first).toContain('routing: B with ENABLE_PERFECT_ROUTER=1, A unchanged · rate, median of runs\n');
    expect(first.replaceAll(/\s+/g, ' ')).toContain('✗ B is marked upper bound, invalid output: never a baseline');
    expect(await printed(['ab', 'routing', ...here])).toBe(first);
    expect(await printed(['ab', '--read', 'routing', ...here])).toBe(first);
    id = firstId(db, 'SELECT sweep_id AS id FROM sweeps');
    expect([await printed(['ab', id.slice(0, 8), ...here]), flagsIn(db)]).toEqual([first, MARKED]);
  });

  test('is no night: neither the newest sweep of the branch nor what a commit is like', async () => {
    for (const command of ['check', 'compare']) {
      const { code, stderr } = await bench([command, ...here]);
      expect([command, code]).toEqual([command, 2]);
      expect(stderr).toMatch(/no sweep of (?:a )?branch .*is stored: name one of `bench ls sweeps`/);
    }
  });

  test('survives a lost store: marks and verdict are made of the artefacts', async () => {
    const before = await printed(['ab', 'routing', ...here]);
    for (const end of ['', '-wal', '-shm']) {
      try {
        renameSync(`${db}${end}`, `${db}${end}.lost`);
      } catch {
        // SQLite has put these away already.
      }
    }
    await printed(['import', join(folder, 'artefacts'), ...here]);
    expect([flagsIn(db), await printed(['ab', 'routing', ...here])]).toEqual([MARKED, before]);
  });

  test('a name that nobody knows is one line', async () => {
    expect(await bench(['ab', 'nothing', ...here])).toEqual(refusal('bench: nothing: neither a git revision here'));
  });

  test('A may be part of a baseline, and B is not', async () => {
    const { code, stderr } = await bench(['baseline', 'set', 'moe', id.slice(0, 8), ...here]);
    expect(code).toBe(0);
    expect(stderr).toContain('note: 1 cell is not part of the baseline: no run that counts (see `bench show ');
  });
});

test('trtexec cells: are measured the same way, with marks of the caller', async () => {
  const { folder, db } = temporaryStore();
  const matrix = stubMatrix(folder);
  const eager = ['--env', 'CUDA_MODULE_LOADING=EAGER', '--repeats', '2', '--upper-bound'];
  const args = ['ab', matrix, ...eager, '--trtexec', STUB, '--no-telemetry', '--db', db];
  const { code, json } = await benchJson(OUTPUTS.ab, args);
  const cell = { metric: 'gpuComputeMs', runs: [2, 2], betterIs: 'lower' };
  const expected = { name: 'CUDA_MODULE_LOADING=EAGER', marks: ['upperBound'], cells: [cell, cell] };
  expect([code, json]).toMatchObject([0, expected]);
  const env = queryStore<{ env: string }>(
    db,
    `SELECT json_extract(env, '$.CUDA_MODULE_LOADING') AS env FROM runs JOIN cells USING (cell_key)
       JOIN invocations USING (invocation_id) WHERE axis_flags LIKE '%EAGER%' GROUP BY 1`,
  );
  expect(env).toEqual([{ env: 'EAGER' }]);
  const [builds] = queryStore<{ n: number }>(db, 'SELECT count(*) AS n FROM builds');
  // One engine for all four cells: a variable on an axis changes no build.
  expect(builds).toEqual({ n: 1 });
});

describe('refusals', () => {
  const folder = sharedFolder();
  const matrix = fakeHarnessMatrix(folder, 112);

  test.each([
    [['ab'], 'which matrix? Write `bench ab MATRIX --env NAME=VALUE`, or `bench ab SWEEP`'],
    [['ab', matrix], 'what is B? Name a variable, --env NAME=VALUE'],
    [['ab', matrix, '--env', 'NAME'], '--env NAME: write NAME=VALUE'],
    [['ab', matrix, '--env', '1X=2'], '--env 1X=2: write NAME=VALUE'],
    [['ab', matrix, '--env', 'HF_TOKEN=abc'], '--env HF_TOKEN: bench would store its value'],
    [['ab', matrix, '--experiment', 'perfect-rooter'], 'did you mean perfect-router?'],
    [['ab', matrix, '--env', 'A=1', '--significant', '0'], 'must be a percentage above 0'],
    [['ab', 'nothing.yaml', '--env', 'A=1'], 'nothing.yaml'],
    [['ab', '--read', 'x', '--env', 'A=1'], '--read shows what is stored'],
  ] as const)('%j', async (args, words) => {
    expect(await bench([...args, '--db', join(folder, 'bench.sqlite')])).toEqual(refusal(words));
  });

  test('A must differ from B', async () => {
    const db = join(folder, 'bench.sqlite');
    const inherited = await bench(['ab', matrix, ...PERFECT, '--db', db], { env: { ENABLE_PERFECT_ROUTER: '1' } });
    expect(inherited.code).toBe(2);
    const text = 'ENABLE_PERFECT_ROUTER=1 is already set without the experiment, so A would equal B';
    expect(inherited.stderr).toContain(text);
    const other = fakeHarnessMatrix(temporaryFolder(), 112, ['axes: {env: {ENABLE_PERFECT_ROUTER: [unset, "1"]}}']);
    const onAxis = await bench(['ab', other, ...PERFECT, '--db', db]);
    expect(onAxis.stderr).toContain('ENABLE_PERFECT_ROUTER is already an axis of the matrix');
    const trtexec = await bench(['ab', stubMatrix(temporaryFolder()), ...PERFECT, '--trtexec', STUB, '--db', db]);
    expect(trtexec.stderr).toContain(
      'is measured by trtexec, which does not know ENABLE_PERFECT_ROUTER: leave it out with --filter',
    );
  });

  test('a sweep of bench run is no experiment', async () => {
    const { folder: own, db } = temporaryStore();
    await printed(['run', fakeHarnessMatrix(own, 112), '--repeats', '1', '--no-telemetry', '--db', db]);
    const id = firstId(db, 'SELECT sweep_id AS id FROM sweeps');
    const text = 'is not an A/B experiment; `bench ls sweeps` lists them';
    expect(await bench(['ab', id, '--db', db])).toEqual(refusal(`bench: ${id} ${text}\n`));
  });
});
