import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { describeWithSlurm, HAS_SLURM, SlurmCluster, until } from '../../support/slurm-cluster.ts';
import { SlurmRun } from '../../support/slurm-run.ts';
import { dumpStore, queryStore } from '../../support/store-dump.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

// For all the files of tests that need it.
if (!HAS_SLURM) {
  process.stderr.write('tests of the real Slurm are skipped; what they need, as root: test/slurm/install\n');
}

describeWithSlurm('a real Slurm', () => {
  let cluster: SlurmCluster;
  beforeAll(async () => {
    cluster = await SlurmCluster.start(16_800);
  });
  afterAll(() => cluster.stop());

  test('(a) eight shards, two at once: all results; collected twice, the same rows', async () => {
    const run = new SlurmRun(cluster, { shards: 8, repeats: 2, slurm: { maxParallel: 2 } });
    const { code, stdout } = await run.start('--wait');
    expect(code).toBe(0);
    expect(stdout).toMatch(/8 shards: 8 done; \d+ runs stored in .*\n.* is complete: bench show/);
    expect(run.shards()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const timed = `SELECT cell_key FROM runs WHERE role = 'timed' AND outcome = 'measured'`;
    expect(queryStore(run.db, timed)).toHaveLength(16);
    expect(queryStore(run.db, 'SELECT state, host FROM sweeps')).toEqual([{ state: 'finished', host: null }]);
    const before = dumpStore(run.db);
    const again = await run.collected();
    expect([again.code, again.stored, again.counts.done, dumpStore(run.db)]).toEqual([0, 0, 8, before]);

    const other = await run.bench(['slurm', 'collect', run.path, '--db', join(run.folder, 'other', 'bench.sqlite')]);
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('cannot be opened')]);
    const copy = join(run.folder, 'copy.sqlite');
    expect((await run.bench(['slurm', 'collect', run.path, '--db', copy])).code).toBe(0);
    expect(dumpStore(copy)).toEqual(before);
  });

  test('a job that collects when the others have ended, also when one of them has failed', async () => {
    const run = new SlurmRun(cluster, { shards: 2 });
    run.tell('version-1');
    const { code, stdout } = await run.start('--collect-job');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/job \d+ collects the results when/)]);
    const collector = /job (\d+) collects the results/.exec(stdout)?.[1] ?? '';
    const log = join(run.path, 'log', `collect-${collector}.out`);
    await until(() => existsSync(log) && readFileSync(log, 'utf8').includes('bench slurm resume'));
    expect(readFileSync(log, 'utf8')).toContain('2 shards: 1 done, 1 failed; 2 runs stored');
    expect(queryStore(run.db, `SELECT outcome FROM runs WHERE role = 'timed'`)).toEqual([{ outcome: 'measured' }]);
  });

  test('(b) one shard exits 3, one is killed: exit code 4 and a table; resumed, all is there', async () => {
    const run = new SlurmRun(cluster, { shards: 6 });
    run.tell('version-2', 'kill-4');
    const { code, stdout } = await run.start('--wait');
    expect(code).toBe(4);
    expect(stdout.split('\n').filter((line) => /^ +\d/.test(line))).toEqual([
      expect.stringMatching(/2 +failed +exit code 3/),
      expect.stringMatching(/4 +failed +ended by SIGKILL/),
    ]);
    expect(stdout).toMatch(/is TensorRT 8\.6\S*, the plan is for/);
    expect(stdout).toContain('6 shards: 4 done, 2 failed;');
    expect(stdout).toContain(join(run.path, 'log'));
    expect(stdout).toContain(`measure what is missing: bench slurm resume ${run.path}`);
    run.untell('version-2', 'kill-4');
    const resumed = await run.resume('--wait');
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('6 shards: 6 done')]);
  });

  test('(e) scancel of a task, and bench slurm cancel of the rest', async () => {
    const run = new SlurmRun(cluster, { shards: 5 });
    run.tell('closed-1', 'closed-2', 'closed-3', 'closed-4');
    const [job = ''] = await run.submit();
    await cluster.untilState(`${job}_1`, 'RUNNING');
    await until(() => run.shards().length === 1);
    await cluster.run('scancel', [`${job}_1`]);
    await cluster.untilState(`${job}_1`, 'CANCELLED');
    const partly = await run.collected();
    expect([partly.code, partly.counts.done, partly.counts.cancelled]).toEqual([4, 1, 1]);
    const cancelled = await run.bench(['slurm', 'cancel', run.path]);
    expect([cancelled.code, cancelled.stdout]).toEqual([0, expect.stringContaining(`3 shards cancelled: job ${job}`)]);
    await until(async () => (await run.collected()).counts.cancelled === 4);
    const again = await run.bench(['run', '--resume', '--db', run.db]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('bench slurm resume')]);
    run.untell('closed-1', 'closed-2', 'closed-3', 'closed-4');
    expect((await run.resume('--wait')).code).toBe(0);
  });

  test('(j) names with blanks, quotes and $(...); settings of somebody in the environment', async () => {
    const run = new SlurmRun(cluster, {
      shards: 2,
      runName: `run "a" $(touch pwned) 'b' %a;`,
      lines: [`name: "night's $(touch pwned) \\"x\\""`],
      slurm: { time: '1:30:00', maxParallel: 1, extraArgs: ['--mail-user=nobody $(touch pwned)'] },
      env: { SBATCH_TIMELIMIT: '7', SBATCH_PARTITION: 'none', SQUEUE_STATES: 'SUSPENDED' },
    });
    run.tell('closed-0');
    const [job = ''] = await run.submit();
    await cluster.untilState(`${job}_0`, 'RUNNING');
    expect((await cluster.run('squeue', ['-h', '-j', job, '-o', '%l %P'])).split('\n')[0]).toBe('1:30:00 gpu');
    run.untell('closed-0');
    const done = await run.collected('--wait');
    expect([done.code, done.counts.done, existsSync(join(run.path, 'log', `${job}_1.out`))]).toEqual([0, 2, true]);
    for (const folder of [run.folder, run.path]) expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });

  test('a task that is preempted is measured anew: no cell has times of two attempts', async () => {
    // Two groups of cells in one shard, told apart by their batch; the second one is kept waiting.
    const slurm = { shardMinutes: 10, nodelist: 'gpu1' };
    const run = new SlurmRun(cluster, { shards: 2, repeats: 2, lines: ['seed: 2'], slurm });
    run.tellTask('closed-0', '--shapes=input:2x3');
    const [job = ''] = await run.submit();
    await until(() => run.isWaiting(0));
    const urgent = ['--parsable', '--partition=urgent', '--nodelist=gpu1', '--exclusive'];
    await cluster.run('sbatch', [...urgent, '--output=/dev/null', '--wrap=true']);
    await until(async () => (await cluster.states()).get(`${job}_0`) === 'PENDING');
    const waiting = await run.collected();
    expect([waiting.code, waiting.shards[0]?.state, waiting.stored]).toEqual([4, 'queued', 0]);
    run.untell('closed-0');
    await cluster.startNow(`${job}_0`);
    const done = await run.collected('--wait');
    expect([done.code, done.shards]).toEqual([0, [expect.objectContaining({ state: 'done' })]]);
    expect(run.attempts(0)).toEqual([
      expect.objectContaining({ restart: 0, outcome: expect.stringMatching(/^(?!done)/) }),
      expect.objectContaining({ restart: 1, outcome: 'done' }),
    ]);
    const since = run.attempts(0)[1]?.startedAt ?? '';
    const counted = `SELECT count(*) AS runs, sum(started_at > '${since}') AS later`;
    const times = queryStore(run.db, `${counted} FROM runs WHERE role = 'timed' AND outcome = 'measured'`);
    expect(times).toEqual([{ runs: 4, later: 4 }]);
  });
});
