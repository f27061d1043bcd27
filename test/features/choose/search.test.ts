import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { bench, finished, startBench, temporaryFolder, refusal } from '../../support/bench.ts';
import { benchJson, OUTPUTS } from '../../support/outputs.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { queryStore } from '../../support/store-dump.ts';

/** 0.5 ms and 0.1 ms an item: 0.6, 0.7, 0.9, 1.3, 2.1 and 3.7 ms. */
function place(axes = 'batch: [1, 2, 4, 8, 16, 32]', repeats = 5) {
  const folder = temporaryFolder();
  const matrix = stubMatrix(folder, ['  min: {batch: 1}', '  max: {batch: 32}', `repeats: ${repeats}`]);
  const text = readFileSync(matrix, 'utf8').replace('build: {opt: {batch: 8}}', 'build:\n  opt: {batch: 8}');
  writeFileSync(matrix, text.replace('batch: [1, 8]', axes));
  const db = join(folder, 'bench.sqlite');
  // In no repository: a dirty one would say that the code may have changed.
  const here = { cwd: folder, env: { STUB_JOURNAL: join(folder, 'journal') } };
  const args = (...more: string[]) => ['choose', '--search', matrix, '--trtexec', STUB, '--db', db, ...more];
  const runs = (): unknown => queryStore(db, `SELECT count(*) AS runs FROM runs WHERE role = 'timed'`)[0];
  return { args, db, here, folder, matrix, runs };
}

describe('bench choose --search', () => {
  test('measures what it needs, in an ordinary sweep, and nothing of it again', async () => {
    const { args, db, here, runs } = place();
    const first = await bench(args('--max-latency', '1.5', '--json'), here);
    expect([first.code, first.stderr.includes('rror')]).toEqual([0, false]);
    const output = OUTPUTS.search.parse(JSON.parse(first.stdout));
    const [group] = output.groups;
    expect(output).toMatchObject({ provenance: 'measured', axis: 'batch', runs: { made: 5, known: 0, product: 30 } });
    expect(group).toMatchObject({ isComplete: true, isMonotone: true, highest: { at: 8, runs: 2 } });
    const expected = ['1 notMeasured', '2 notMeasured', '4 notMeasured', '8 holds', '16 misses', '32 misses'];
    expect([group?.points.map(({ at, state }) => `${at} ${state}`), runs()]).toEqual([expected, { runs: 5 }]);
    expect(JSON.parse((await bench(['show', 'latest', '--db', db, '--json'])).stdout).cells).toHaveLength(3);

    const again = await bench(args('--max-latency', '1.5'), here);
    const text = 'all known · 0 runs instead of 30 (5 for each cell) · 5 runs known from other sweeps';
    expect(again.stdout).toContain(text);
    expect(again.stdout).toContain('small fp16 8x3 graph: batch 8\n  1.30');
    expect([runs(), queryStore(db, 'SELECT * FROM sweeps').length]).toEqual([{ runs: 5 }, 1]);
    // Another limit uses them, too; the matrix is that of the newest sweep.
    const other = await bench(['choose', '--search', '--max-latency', '0.8', '--trtexec', STUB, '--db', db], here);
    expect([other.code, other.stdout.includes('batch 2\n')]).toEqual([0, true]);
  });

  test('stops at --max-runs with what is known, and goes on from there', async () => {
    const { args, here, runs } = place();
    const first = await bench(args('--max-latency', '1.5', '--max-runs', '1'), here);
    expect(first).toMatchObject({ code: 4, stdout: expect.stringContaining('small fp16 8x3 graph: batch 8 at least') });
    expect(first.stdout).toContain('stopped at 1 run: --max-runs');
    const second = await bench(args('--max-latency', '1.5', '--dry-run'), here);
    expect(second.stdout).toContain('plan · about 6 runs instead of 30 (5 for each cell) · 1 run known');
    expect(runs()).toEqual({ runs: 1 });
    expect([(await bench(args('--max-latency', '1.5'), here)).code, runs()]).toEqual([0, { runs: 5 }]);
  });

  test('Ctrl-C keeps what is measured; --resume finishes it', async () => {
    const { args, db, here, folder, runs } = place();
    const child = startBench(args('--max-latency', '1.5'), { ...here, env: { ...here.env, STUB_DELAY_MS: '200' } });
    const ended = finished(child);
    const journal = join(folder, 'journal');
    while (!existsSync(journal) || readFileSync(journal, 'utf8').split('--loadEngine').length < 3) await sleep(20);
    child.kill('SIGINT');
    const stderr = expect.stringContaining('continue with `bench run --resume');
    expect(await ended).toMatchObject({ code: 130, stderr });
    const resumed = await bench(['run', '--resume', '--db', db], here);
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('batch 8\n') });
    expect(runs()).toEqual({ runs: 5 });
    expect((await bench(['run', '--resume', '--db', db])).stderr).toBe('nothing to resume: no sweep was interrupted\n');
  }, 60_000);

  test('each precision and graph has its own answer; streams are an axis, too', async () => {
    const { args, db, here } = place('batch: 8, streams: [1, 2, 4], cudaGraph: [on, off]');
    const { code, json } = await benchJson(OUTPUTS.search, args('--max-latency', '1.4', '--metric', 'latency'), here);
    expect([code, json.axis, json.groups.map(({ highest }) => highest?.at ?? null)]).toEqual([4, 'streams', [4, null]]);
    const { stdout } = await bench(['choose', '--no-chart', '--db', db], here);
    expect(stdout).toMatch(/graph streams=4 .* ~1\.300 ms +~1\.301 ms/);
    expect(stdout).toContain('~ 2 or 4 streams overlap: their times say little, throughput is what counts');
  });

  test('what fails is no answer: it is named, and the exit code says so', async () => {
    const { args, here } = place();
    const rules = JSON.stringify([{ when: '--shapes=input:8x3', does: 'fails' }]);
    const { code, stdout } = await bench(args('--max-latency', '1.5'), {
      ...here,
      env: { ...here.env, STUB_RULES: rules },
    });
    expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringContaining('small fp16 4x3 graph: batch 4') });
    expect(stdout).toContain('4 holds (2 runs), 8 failed');
  });

  test('a plain choose afterwards takes the newest value of each cell, of earlier sweeps, too', async () => {
    const { args, db, here, matrix } = place('batch: [1, 2, 4]', 2);
    for (const filter of ['batch=1', 'batch<4']) {
      await bench(['run', matrix, '--filter', filter, '--trtexec', STUB, '--db', db], here);
    }
    await bench(args('--max-latency', '2'), here);
    const { code, json } = await benchJson(OUTPUTS.slo, ['choose', '--max-latency', '2', '--db', db], here);
    expect([code, json.models[0]?.candidates, json.sweepIds.length]).toEqual([0, 3, 2]);
    const named = await benchJson(OUTPUTS.slo, ['choose', '--max-latency', '2', '--at', 'latest', '--db', db], here);
    expect(named.json.models[0]?.candidates).toBe(1);
  });

  test('a limit nearer than the noise is decided by the median, and told', async () => {
    const { args, here } = place('batch: [1, 2]', 3);
    const { stdout } = await bench(args('--max-latency', '0.7'), here);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('too close to be sure');
    expect(stdout).toContain('2 misses (3 runs)');
  });

  test.each([
    [['--max-runs', '3'], '--max-runs needs --search'],
    [['--search'], '--search needs a limit: add --max-latency MS'],
    [['--search', '--max-latency', '3', '--at', 'latest'], '--at cannot be used with --search, which measures'],
    [['--search', '--max-latency', '3', '--sure', '40'], 'must be a percentage above 50 and below 100, such as 95'],
  ])('%j', async (more, problem) => {
    expect(await bench(['choose', '--db', join(temporaryFolder(), 'bench.sqlite'), ...more])).toEqual(refusal(problem));
  });

  test('a matrix without such an axis has nothing to search', async () => {
    const { args, here } = place('batch: 8');
    expect(await bench(args('--max-latency', '3'), here)).toEqual(
      refusal('nothing to search in stub: no two of its cells differ only in batch or streams'),
    );
  });
});
