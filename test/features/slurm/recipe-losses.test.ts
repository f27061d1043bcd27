import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { describeWithSlurm, SlurmCluster, until } from '../../support/slurm-cluster.ts';
import { finished } from '../../support/bench.ts';
import { SlurmRun } from '../../support/slurm-run.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describeWithSlurm('a real Slurm with accounting that loses nodes, jobs and its controller', () => {
  let cluster: SlurmCluster;
  beforeAll(async () => {
    cluster = await SlurmCluster.start(18_000, { DBD: '1', MAX_ARRAY: '10', MIN_JOB_AGE: '5', NODE_TIMEOUT: '5' });
  });
  afterAll(() => cluster.stop());

  test('(c) (d) a node loses its power, another its daemon: a second attempt, and one result', async () => {
    // So much memory that each is alone on its node.
    const slurm = { mem: '3G' };
    const crashed = new SlurmRun(cluster, { shards: 1, slurm });
    const cutOff = new SlurmRun(cluster, { shards: 1, slurm });
    for (const run of [crashed, cutOff]) run.tell('closed-0');
    const [[crashedJob = ''], [cutOffJob = '']] = [await crashed.submit(), await cutOff.submit()];
    await until(() => crashed.isWaiting(0) && cutOff.isWaiting(0));
    const [crashedNode, cutOffNode] = [crashed.nodeOf(0), cutOff.nodeOf(0)];
    expect(crashedNode).not.toBe(cutOffNode);
    await cluster.happen('crash', crashedNode);
    await cluster.happen('daemon', cutOffNode);
    for (const run of [crashed, cutOff]) {
      expect((await run.collected('--lost-after', '1s')).counts).toMatchObject({ lost: 0 });
    }
    await cluster.untilState(`${crashedJob}_0`, 'PENDING');
    await cluster.untilState(`${cutOffJob}_0`, 'PENDING');

    crashed.untell('closed-0');
    await cluster.startNow(`${crashedJob}_0`);
    const mended = await crashed.collected('--wait');
    expect([mended.code, mended.counts.done]).toEqual([0, 1]);
    expect(crashed.attempts(0)).toMatchObject([
      { restart: 0, node: crashedNode, outcome: 'working' },
      { restart: 1, outcome: 'done' },
    ]);
    expect(crashed.attempts(0)[1]?.node).not.toBe(crashedNode);

    // Its first attempt is still at work when the second one begins.
    await cluster.startNow(`${cutOffJob}_0`);
    await until(() => cutOff.attempts(0).length === 2);
    cutOff.untell('closed-0');
    const outcomes = (): string[] => cutOff.attempts(0).map(({ outcome }) => outcome);
    // The one that comes second says "done" until it finds the place taken.
    await until(() => isDeepStrictEqual(outcomes().toSorted(), ['done', 'late']));
    const both = await cutOff.collected();
    expect([both.code, both.counts.done, cutOff.shards()]).toEqual([0, 1, [0]]);
    // A build and one timed run, of one of them.
    expect([both.stored, both.incompleteCells]).toEqual([2, 0]);
    for (const node of [crashedNode, cutOffNode]) await cluster.happen('start', node);
  });

  test('(f) (g) 12 shards in arrays of ten; a shard that is gone is lost, and measured again', async () => {
    const run = new SlurmRun(cluster, { shards: 12 });
    const jobs = await run.submit();
    expect(jobs).toHaveLength(2);
    const done = await run.collected('--wait');
    expect([done.code, done.counts.done, done.incompleteCells]).toEqual([0, 12, 0]);
    const tasks = done.shards.map(({ task }) => task);
    expect([tasks[0], tasks[9], tasks[10]]).toEqual([`${jobs[0]}_0`, `${jobs[0]}_9`, `${jobs[1]}_0`]);

    rmSync(join(run.path, 'shards', '11'), { recursive: true });
    await until(async () => !(await cluster.states()).has(`${jobs[1]}_1`));
    // A folder of its own: beside the first store lie the runs of the first measurement.
    mkdirSync(join(run.folder, 'copy'));
    const copy = ['--db', join(run.folder, 'copy', 'bench.sqlite')];
    const lost = await run.collected('--lost-after', '1s', ...copy);
    expect([lost.code, lost.counts.done, lost.counts.lost]).toEqual([4, 11, 1]);
    expect(lost.shards[11]).toMatchObject({ state: 'lost', task: `${jobs[1]}_1` });
    const resumed = await run.resume('--lost-after', '1s', '--json');
    expect([resumed.code, JSON.parse(resumed.stdout).jobs]).toMatchObject([0, [{ shards: [11] }]]);
    const again = await run.collected('--wait', ...copy);
    expect([again.code, again.counts.done, again.isFinished]).toEqual([0, 12, true]);
  });

  test('(i) what squeue has forgotten is explained by sacct; resumed, all is there', async () => {
    const run = new SlurmRun(cluster, { shards: 5, slurm: { time: 10, account: 'bench' } });
    run.tell('version-1', 'kill-2', 'closed-3');
    const [job = ''] = await run.submit();
    await until(() => run.isWaiting(3) && run.shards().length === 2);
    await cluster.run('scancel', [`${job}_3`]);
    await until(async () => [...(await cluster.states()).keys()].every((task) => task === ''));
    // Nobody but accounting knows now how they ended.
    rmSync(join(run.path, 'attempts', '1'), { recursive: true });
    rmSync(join(run.path, 'attempts', '2'), { recursive: true });
    const seen = await run.collected('--lost-after', '1h');
    expect(seen.code).toBe(4);
    expect(seen.shards).toMatchObject([
      { state: 'done' },
      { state: 'failed', exitCode: 3, reason: expect.stringContaining('exit code 3') },
      { state: 'failed', signal: 'SIGKILL', reason: 'ended by SIGKILL' },
      { state: 'cancelled' },
      { state: 'done' },
    ]);
    run.untell('version-1', 'kill-2', 'closed-3');
    const resumed = await run.resume('--wait');
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('5 shards: 5 done')]);
  });

  test('(h) the controller is gone during a poll: nothing is lost', async () => {
    const run = new SlurmRun(cluster, { shards: 2 });
    run.tell('closed-0', 'closed-1');
    await run.submit();
    await until(() => run.isWaiting(0) && run.isWaiting(1));
    const follower = run.startCollect('--wait', '--json', '--lost-after', '1s');
    const ended = finished(follower);
    let reported = '';
    follower.stderr?.on('data', (text: Buffer) => (reported += text.toString()));
    await until(() => reported.includes('2 running'));
    await cluster.happen('ctld-stop');
    await until(() => reported.includes('Slurm does not answer'));
    // Each of them waits for an answer.
    const asking = [run.collected('--lost-after', '1s'), run.bench(['slurm', 'cancel', run.path])] as const;
    const [meanwhile, cancelled] = await Promise.all(asking);
    expect(meanwhile.counts).toMatchObject({ lost: 0, failed: 0, running: 2 });
    expect([cancelled.code, cancelled.stderr]).toEqual([3, expect.stringContaining('nothing was cancelled')]);
    await cluster.happen('ctld-start');
    run.untell('closed-0', 'closed-1');
    const { code, stdout } = await ended;
    expect([code, JSON.parse(stdout).counts.done]).toEqual([0, 2]);
  });
});
