import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import {
  bench,
  finished,
  ROOT,
  startBench,
  temporaryFolder,
  sharedFolder,
  refusal,
  temporaryStore,
} from '../../support/bench.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { queryStore } from '../../support/store-dump.ts';
import { OUTPUTS, benchJson, jsonOf } from '../../support/outputs.ts';

/** Batch 8 scatters, batch 1 does not. */
const NOISE = { STUB_NOISE: '{"when": "input:8x3", "percent": 4}' };

/** Runs of each cell in the newest sweep. */
const REPEATS = `SELECT shapes, count(*) AS runs FROM runs JOIN cells USING (cell_key)
  WHERE role = 'timed' AND sweep_id = (SELECT sweep_id FROM sweeps ORDER BY started_at DESC LIMIT 1) GROUP BY cell_key`;

function checkout(env: Readonly<Record<string, string>>, more = ['repeats: 3']) {
  const { folder, db } = temporaryStore();
  const matrix = stubMatrix(folder, more);
  return {
    db,
    env: { STUB_JOURNAL: join(folder, 'journal'), ...env },
    args: (...others: string[]) => ['run', matrix, '--trtexec', STUB, '--db', db, ...others],
    repeats: (): Record<string, number> => {
      const rows = queryStore<{ shapes: string; runs: number }>(db, REPEATS);
      return Object.fromEntries(rows.map(({ shapes, runs }) => [shapes, runs]));
    },
  };
}

const [ONE, EIGHT] = ['{"input":[1,3]}', '{"input":[8,3]}'];

describe('bench run --until-sure', () => {
  test('repeats the cell that scatters, and not the one that does not', async () => {
    const { args, env, repeats } = checkout(NOISE);
    const { code, stderr } = await bench(args('--until-sure', '1'), { env });
    expect(code).toBe(0);
    expect(repeats()[ONE]).toBe(3);
    expect(repeats()[EIGHT]).toBeGreaterThan(3);
    expect(stderr).toContain(`[7/7] small fp16 8x3 graph #4`);
  });

  test('takes of each cell the newest sweep that has it', async () => {
    const { args, env, repeats } = checkout(NOISE, ['repeats: 2']);
    const sure = ['--until-sure', '1', '--max-repeats', '6'];
    const { code, stderr } = await bench(args('--filter', 'batch=8', ...sure), { env });
    expect(stderr).toContain('is not detectable yet in 1 of 1 cell (--max-repeats, --budget): small fp16 8x3 graph');
    expect([code, (await bench(args('--filter', 'batch=1'), { env })).code]).toEqual([0, 0]);
    await bench(args(...sure), { env });
    expect(repeats()[EIGHT]).toBeGreaterThan(2);
  });

  test('killed in the middle and resumed, it goes on to the same end', async () => {
    const { args, db, env, repeats } = checkout({ ...NOISE, STUB_DELAY_MS: '80' });
    const child = startBench(args('--until-sure', '0.01', '--max-repeats', '12'), { env });
    const ended = finished(child);
    while (queryIfThere(db) < 9) await sleep(30);
    child.kill('SIGKILL');
    await ended;
    expect([(await bench(['run', '--resume', '--db', db], { env })).code, repeats()[EIGHT]]).toEqual([0, 12]);
    const all = (repeats()[ONE] ?? 0) + 12;
    const journal = readFileSync(env['STUB_JOURNAL'] ?? '', 'utf8');
    // Nothing twice but the one run that the kill broke off.
    expect(journal.match(/--loadEngine/g)?.length).toBeLessThanOrEqual(all + 1);
  }, 60_000);

  test('on recordings no more runs than were recorded', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const matrix = join(ROOT, 'matrices', 'quickstart-pair.yaml');
    expect((await bench(['run', matrix, '--repeats', '2', '--until-sure', '0.001', '--db', db])).code).toBe(0);
    expect(queryStore(db, `SELECT max(repeat) AS most FROM runs`)).toEqual([{ most: 5 }]);
  });
});

function queryIfThere(db: string): number {
  try {
    return queryStore(db, `SELECT 1 FROM runs WHERE role = 'timed'`).length;
  } catch {
    return 0;
  }
}

test('bench run --budget: leaves out what does not fit, says so, and begins with it the next night', async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  // By warm-up and duration a run is expected to take 3.9 s.
  const args = ['run', stubMatrix(folder, ['repeats: 2']), '--trtexec', STUB, '--db', db, '--max-repeats', '2'];
  const night = async (): Promise<{ stderr: string; batches: number[] }> => {
    const { code, stderr } = await bench([...args, '--budget', '30s']);
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    const rows = queryStore<{ shapes: string }>(db, REPEATS);
    return { stderr, batches: rows.map(({ shapes }) => JSON.parse(shapes).input[0]) };
  };
  const first = await night();
  // The first build takes a minute for all that is known: one cell is measured in any case.
  expect(first.batches).toEqual([1]);
  expect(first.stderr).toContain(
    'note: the budget of 30.0 s is too short for one cell: about 1 min 08 s; it leaves out 1 of 2 cells (about 7.8 s); they come first next time: small fp16 8x3 graph\n',
  );
  // The engine is there by now, and a run took no second.
  const second = await night();
  expect([second.batches.toSorted(), second.stderr]).toEqual([[1, 8], expect.not.stringContaining('leaves out')]);
});

describe('captures', () => {
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
      const args = ['plan', matrix('capture', 'run: {capture: 50}'), '--tensorrt', version];
      const timed = (await jsonOf(OUTPUTS.plan, args)).runs.find(({ role }) => role === 'timed');
      return timed?.argv?.filter((arg) => /^--(?:warmUp|duration|iterations)=/.test(arg));
    };
    expect(await planned('10.6')).toEqual(['--warmUp=0', '--duration=0', '--iterations=50']);
    expect(await planned('11.1')).toEqual(['--warmUp=0', '--duration=0', '--iterations=49']);
    const both = await bench(['plan', matrix('both', 'run: {capture: 50, warmUpMs: 5}'), '--tensorrt', '10.6']);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('excludes warmUpMs')]);
  });

  test('captures are marked, and never compared, judged, chosen, a baseline or the newest sweep', async () => {
    const db = join(folder, 'bench.sqlite');
    const run = (path: string) =>
      bench(['run', path, '--trtexec', STUB, '--no-telemetry', '--db', db], { cwd: folder });
    const capture = (): string => matrix('capture', 'name: stub', 'repeats: 2', 'run: {capture: 50}');
    const { code: ended, stdout } = await run(capture());
    expect([ended, stdout.includes('first sweep: nothing to compare with; 2 cells captured\n')]).toEqual([0, true]);
    expect(stdout).toContain('capture (4 runs; this is one of them): 64 queries without a warm-up, as for a profiler');
    const nothing = await bench(['choose', '--db', db]);
    const why = 'nothing to choose from: no cell of these sweeps has a fit run with a throughput';
    expect([nothing.code, nothing.stdout.includes('excluded: small fp16 1x3 graph: capture\n')]).toEqual([4, true]);
    expect(nothing.stdout.trimEnd().endsWith(why)).toBe(true);
    expect((await bench(['show', 'latest', '--db', db])).stdout).toContain('capture (4 runs');
    await run(matrix('usual', 'name: stub', 'repeats: 2'));
    await run(capture());
    const { sweeps } = await jsonOf(OUTPUTS.sweeps, ['ls', 'sweeps', '--db', db]);
    const [newest = '', usual = ''] = sweeps.map(({ sweepId }) => sweepId);
    const compared = await jsonOf(OUTPUTS.compare, ['compare', usual, newest, '--db', db]);
    expect(compared.counts).toMatchObject({ incomparable: 2, same: 0 });
    expect((await run(matrix('own', 'name: own', 'repeats: 2', 'run: {capture: 50}'))).code).toBe(0);
    const { code, json } = await benchJson(OUTPUTS.check, ['check', '--db', db]);
    expect([code, json.series.map(({ sweepId, cells }) => [sweepId, cells.length])]).toEqual([0, [[usual, 2]]]);
    const { cells } = await jsonOf(OUTPUTS.trend, ['trend', '--db', db]);
    const points = cells.flatMap((one) => one.points.filter(({ value }) => value !== null));
    expect([points.length, new Set(points.map(({ sweepId }) => sweepId))]).toEqual([4, new Set([usual])]);
    const chosen = await benchJson(OUTPUTS.pareto, ['choose', '--db', db]);
    expect([chosen.code, chosen.json.sweepIds, chosen.json.workloads[0]?.length]).toEqual([0, [usual], 2]);
    const cell = compared.cells[0]?.key ?? '';
    const { runs } = await jsonOf(OUTPUTS['show-cell'], ['show', cell, '--db', db]);
    expect(runs.map(({ ineligible, sweepId }) => `${sweepId === usual} ${ineligible.join()}`)).toEqual(
      ['false capture', 'false capture', 'true ', 'false capture'].flatMap((row) => [row, row]),
    );
    const baseline = await bench(['baseline', 'set', 'v1', newest, '--db', db]);
    expect(baseline).toEqual(refusal('cannot be a baseline: no run that counts'));
  });
});
