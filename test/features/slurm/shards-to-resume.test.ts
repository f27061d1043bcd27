import { expect, test } from 'vitest';

import type { ShardStatus } from '../../../src/tools/slurm/states.ts';
import { shardsToResume } from '../../../src/features/slurm/resume-run.ts';

const status = (shard: number, state: ShardStatus['state'], reason = ''): ShardStatus => ({
  shard,
  state,
  reason,
  task: null,
  node: null,
  restarts: null,
  exitCode: null,
  signal: null,
  log: null,
  lastLines: [],
});

const ENDED = 'ended; waiting for its results';

test('a shard that was refused is measured again at once, whatever else is waited for', () => {
  const statuses = [
    status(0, 'done'),
    status(1, 'running', ENDED),
    status(2, 'running', ENDED),
    status(3, 'running'),
    status(4, 'failed', 'exit code 1'),
    status(5, 'planned'),
    // Handed in anew already, since it was refused.
    status(6, 'running'),
  ];
  expect(shardsToResume(statuses, new Set([1, 6]))).toEqual({ again: [1, 4, 5], settling: [2] });
  expect(shardsToResume(statuses, new Set())).toEqual({ again: [4, 5], settling: [1, 2] });
});
