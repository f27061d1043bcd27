import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { describeWithSlurm, SlurmCluster, until } from '../../support/slurm-cluster.ts';
import { SlurmRun } from '../../support/slurm-run.ts';

const PATIENCE_MS = 120_000;

describeWithSlurm('a real Slurm with accounting', () => {
  let cluster: SlurmCluster;
  beforeAll(async () => {
    cluster = await SlurmCluster.start(19_200, { DBD: '1', MIN_JOB_AGE: '5' });
  }, PATIENCE_MS);
  afterAll(() => cluster.stop(), PATIENCE_MS);

  test(
    '(i) what squeue has forgotten is explained by sacct; resumed, all is there',
    async () => {
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
    },
    PATIENCE_MS,
  );
});
