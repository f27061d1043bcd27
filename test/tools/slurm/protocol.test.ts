import { describe, expect, test } from 'vitest';

import {
  arraySpec,
  chunkShards,
  JOB_SCRIPT,
  launcher,
  sbatchArgs,
  taskArgs,
} from '../../../src/features/slurm/sbatch-args.ts';
import type { SlurmSettings } from '../../../src/matrix/schema/slurm-schema.ts';
import { isPassing, parseJobId } from '../../../src/tools/slurm/slurm-client.ts';
import { parseSacct, parseSqueue, reconcileShard } from '../../../src/tools/slurm/states.ts';
import type { ShardFacts, TaskRow } from '../../../src/tools/slurm/states.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('shards are cut into arrays that Slurm takes, each counted from 0', () => {
  expect(chunkShards(numbers(25), 10, 5).map((chunk) => [chunk.offset, arraySpec(chunk)])).toEqual([
    [0, '0-9%5'],
    [10, '0-9%5'],
    [20, '0-4'],
  ]);
  expect(chunkShards([3, 7, 9, 10, 11], 1001, null).map(arraySpec)).toEqual(['3,7,9-11']);
});

test.each([
  ['17\n', { jobId: '17', cluster: null }],
  ['Welcome!\n17;sim\n\n', { jobId: '17', cluster: 'sim' }],
  ['Submitted batch job 17\n', null],
  ['', null],
])('sbatch --parsable printed %j', (text, job) => expect(parseJobId(text)).toEqual(job));

test.each([
  ['sbatch: error: Batch job submission failed: Socket timed out on send/recv operation', true],
  ['sbatch: error: QOSMaxSubmitJobPerUserLimit', true],
  ['sbatch: error: invalid partition specified: nope', false],
])('%s: what passes by itself: %s', (text, passing) => expect(isPassing(text)).toBe(passing));

describe('the arguments of sbatch', () => {
  const run = '/shared/run 50% $(x)';
  const env = { PATH: '/bin', HOME: '/root', SECRET: 'x', HF_HOME: '/hf' };
  const argsOf = (settings: SlurmSettings): string[] => {
    const own = taskArgs(settings, { offset: 10, shards: [10, 11], parallel: 2 }, '7');
    const command = launcher(settings, ['/node', '/bench.js']);
    const job = { runFolder: run, name: "night's; x", token: 'bench-1', log: '%A_%a', env };
    return sbatchArgs(settings, job, own, command);
  };

  test('are a list of its own, with a node alone by default', () => {
    const args = argsOf({ partition: 'gpu', env: ['HF_HOME', 'NOT_SET'] });
    const stated = ['--exclusive', '--partition=gpu', '--export=PATH,HOME,HF_HOME', '--job-name=night_s_x'];
    const more = [`--output=/shared/run 50%% $(x)/log/%A_%a.out`, '--signal=B:TERM@120', '--dependency=afterany:7'];
    expect(args).toEqual(expect.arrayContaining([...stated, ...more]));
    expect(args.slice(-3)).toEqual([`${run}/job.sh`, '/node', '/bench.js']);
    expect(JOB_SCRIPT).not.toContain('/shared');
  });

  test('give a container to srun, and let srun hand on the signal', () => {
    const args = argsOf({ container: { image: 'nvcr.io#nvidia/tensorrt:25.01', mounts: ['/data:/data:ro', '/x'] } });
    expect(args).toContain('--signal=TERM@120');
    expect(args.slice(-6).join(' ')).toBe(
      'srun --ntasks=1 --container-image=nvcr.io#nvidia/tensorrt:25.01 --container-mounts=/data:/data:ro,/x --no-container-mount-home bench',
    );
    expect(args.filter((arg) => arg.startsWith('--container'))).toHaveLength(2);
  });
});

describe('a shard that is not done', () => {
  const shard: ShardFacts = { isSubmitted: true, controllerAnswers: true, endedWith: null, row: null, isOverdue: true };
  const none = { reason: null, exitCode: null, signal: null, restarts: null, isPast: false };
  const row = (state: string, more: Partial<TaskRow> = {}): TaskRow => {
    return { task: '8_3', state, node: 'gpu1', ...none, ...more };
  };

  test.each([
    ['PENDING', {}, true, 'queued'],
    ['RUNNING', {}, true, 'running'],
    ['COMPLETING', {}, true, 'running'],
    ['NODE_FAIL', {}, true, 'queued'],
    ['PREEMPTED', { isPast: true }, true, 'failed'],
    ['PREEMPTED', { isPast: true }, false, 'running'],
    ['TIMEOUT', {}, true, 'timeout'],
    ['OUT_OF_MEMORY', {}, true, 'failed'],
    ['CANCELLED', {}, true, 'cancelled'],
    ['BOOT_FAIL', {}, true, 'failed'],
    ['COMPLETED', {}, true, 'lost'],
    ['COMPLETED', {}, false, 'running'],
    ['SOMETHING_NEW', {}, true, 'running'],
  ])('that Slurm calls %s (%j, overdue: %j) is %s', (state, more, isOverdue, concluded) => {
    expect(reconcileShard({ ...shard, isOverdue, row: row(state, more) }).state).toBe(concluded);
  });

  test('failed with a code, or by a signal', () => {
    const reason = (more: Partial<TaskRow>): string => reconcileShard({ ...shard, row: row('FAILED', more) }).reason;
    const expected = ['exit code 42', 'ended by SIGKILL'];
    expect([reason({ exitCode: 42 }), reason({ exitCode: 0, signal: 'SIGKILL' })]).toEqual(expected);
  });

  test('that nobody knows is lost after a while, and only when the controller answers', () => {
    const stateOf = (more: Partial<ShardFacts>) => reconcileShard({ ...shard, ...more }).state;
    expect([stateOf({}), stateOf({ isOverdue: false })]).toEqual(['lost', 'running']);
    expect(stateOf({ controllerAnswers: false })).toBe('running');
    expect([stateOf({ endedWith: 3 }), stateOf({ endedWith: 3, isOverdue: false })]).toEqual(['failed', 'failed']);
  });
});

test('rows of squeue and sacct, with the last run of a requeued task', () => {
  const text = `8_3|RUNNING|None|gpu2|0|0|
8_4|FAILED|NonZeroExitCode|gpu1|10752|1|
8_5|FAILED|JobLaunchFailure|gpu1|9|0|
8_[6-9%2]|PENDING|Resources||0|0|
`;
  expect(parseSqueue(text)).toMatchObject([
    { task: '8_3', state: 'RUNNING', reason: null, node: 'gpu2', exitCode: null, restarts: null },
    { task: '8_4', state: 'FAILED', exitCode: 42, signal: null, restarts: 1 },
    { task: '8_5', state: 'FAILED', exitCode: 0, signal: 'SIGKILL', restarts: 0 },
  ]);
  expect(parseSacct('8_3|CANCELLED by 0|0:15|gpu2\n8_4|FAILED|42:0|gpu1\n')).toMatchObject([
    { task: '8_3', state: 'CANCELLED', exitCode: 0, signal: 'SIGTERM' },
    { task: '8_4', state: 'FAILED', exitCode: 42, signal: null },
  ]);
});
