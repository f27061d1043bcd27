import { afterAll, beforeAll, expect, test } from 'vitest';

import { finished } from '../../support/bench.ts';
import { describeWithSlurm, SlurmCluster, until } from '../../support/slurm-cluster.ts';
import { SlurmRun } from '../../support/slurm-run.ts';

const PATIENCE_MS = 120_000;

describeWithSlurm('a real Slurm that loses its controller', () => {
  let cluster: SlurmCluster;
  beforeAll(async () => {
    cluster = await SlurmCluster.start(20_400);
  }, PATIENCE_MS);
  afterAll(() => cluster.stop(), PATIENCE_MS);

  test(
    '(h) the controller is gone during a poll: nothing is lost',
    async () => {
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
      await until(() => reported.includes('Slurm gives no answer'));
      // Each of them waits for an answer.
      const asking = [run.collected('--lost-after', '1s'), run.bench(['slurm', 'cancel', run.path])] as const;
      const [meanwhile, cancelled] = await Promise.all(asking);
      expect(meanwhile.counts).toMatchObject({ lost: 0, failed: 0, running: 2 });
      expect([cancelled.code, cancelled.stderr]).toEqual([3, expect.stringContaining('nothing was cancelled')]);
      await cluster.happen('ctld-start');
      run.untell('closed-0', 'closed-1');
      const { code, stdout } = await ended;
      expect([code, JSON.parse(stdout).counts.done]).toEqual([0, 2]);
    },
    PATIENCE_MS,
  );
});
