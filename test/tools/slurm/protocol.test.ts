import { describe, expect, test } from 'vitest';

import { arraySpec, chunkShards, sbatchArgs, TASK_SCRIPT } from '../../../src/features/slurm/sbatch-args.ts';
import { isPassing, parseJobId } from '../../../src/tools/slurm/slurm-client.ts';
import {
  type ShardFacts,
  type TaskRow,
  parseSacct,
  parseSqueue,
  reconcileShard,
} from '../../../src/tools/slurm/states.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('shards are cut into arrays that Slurm takes, each counted from 0', () => {
  expect(chunkShards(numbers(25), 10, 5).map((chunk) => [chunk.offset, arraySpec(chunk)])).toEqual([
    [0, '0-9%2'],
    [10, '0-9%2'],
    [20, '0-4%1'],
  ]);
  expect(chunkShards([3, 7, 9, 10, 11], 1001, null).map(arraySpec)).toEqual(['3,7,9-11']);
});

test('more arrays than shards at once: some wait for others', () => {
  expect(chunkShards(numbers(40), 10, 2).map(({ parallel, after }) => [parallel, after])).toEqual([
    [1, null],
    [1, null],
    [1, 0],
    [1, 1],
  ]);
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
  const task = {
    runFolder: '/shared/run 50% $(x)',
    name: "night's; x",
    token: 'bench-1',
    chunk: { offset: 10, shards: [10, 11], parallel: null, after: null },
    afterJob: null,
    program: ['/node', '/bench.js'],
    env: { PATH: '/bin', HOME: '/root', SECRET: 'x', HF_HOME: '/hf' },
  };

  test('are a list of its own, with a node alone by default', () => {
    const args = sbatchArgs({ partition: 'gpu', env: ['HF_HOME', 'NOT_SET'] }, task);
    const stated = ['--exclusive', '--partition=gpu', '--export=PATH,HOME,HF_HOME', '--job-name=night_s_x'];
    const more = ['--output=/shared/run 50%% $(x)/log/%A_%a.out', '--signal=B:TERM@120'];
    expect(args).toEqual(expect.arrayContaining([...stated, ...more]));
    const run = '/shared/run 50% $(x)';
    expect(args.slice(-5)).toEqual([`${run}/task.sh`, run, '10', '/node', '/bench.js']);
    expect(TASK_SCRIPT).not.toContain('/shared');
  });

  test('give a container to srun, and let srun hand on the signal', () => {
    const container = { image: 'nvcr.io#nvidia/tensorrt:25.01', mounts: ['/data:/data:ro', '/x'] };
    const args = sbatchArgs({ container }, task);
    expect(args).toContain('--signal=TERM@120');
    expect(args.slice(-6).join(' ')).toBe(
      'srun --ntasks=1 --container-image=nvcr.io#nvidia/tensorrt:25.01 --container-mounts=/data:/data:ro,/x --no-container-mount-home bench',
    );
    expect(args.filter((arg) => arg.startsWith('--container'))).toHaveLength(2);
  });
});

describe('a shard that is not done', () => {
  const flags = { isSubmitted: true, isCancelled: false, isPast: false, controllerAnswers: true };
  const shard: ShardFacts = {
    ...flags,
    endedWith: null,
    row: null,
    lastSeenMs: 0,
    nowMs: 200_000,
    lostAfterMs: 120_000,
  };
  const none = { reason: null, exitCode: null, signal: null, restarts: null };
  const row = (state: string, more: Partial<TaskRow> = {}): TaskRow => {
    return { task: '8_3', state, node: 'gpu1', ...none, ...more };
  };

  test.each([
    ['PENDING', {}, 'queued'],
    ['RUNNING', {}, 'running'],
    ['COMPLETING', {}, 'running'],
    ['NODE_FAIL', {}, 'queued'],
    ['PREEMPTED', { isPast: true }, 'failed'],
    ['PREEMPTED', { isPast: true, nowMs: 60_000 }, 'running'],
    ['TIMEOUT', {}, 'timeout'],
    ['OUT_OF_MEMORY', {}, 'failed'],
    ['CANCELLED', {}, 'cancelled'],
    ['BOOT_FAIL', {}, 'failed'],
    ['COMPLETED', {}, 'lost'],
    ['COMPLETED', { nowMs: 60_000 }, 'running'],
    ['COMPLETED', { controllerAnswers: false }, 'running'],
    ['SOMETHING_NEW', {}, 'running'],
  ])('that Slurm calls %s (%j) is %s', (state, more, concluded) => {
    expect(reconcileShard({ ...shard, ...more, row: row(state) }).state).toBe(concluded);
  });

  test('failed with a code, or by a signal', () => {
    const reason = (more: Partial<TaskRow>): string => reconcileShard({ ...shard, row: row('FAILED', more) }).reason;
    const expected = ['exit code 42', 'ended by SIGKILL'];
    expect([reason({ exitCode: 42 }), reason({ exitCode: 0, signal: 9 })]).toEqual(expected);
  });

  test('that nobody knows is lost after a while, and only when the controller answers', () => {
    const stateOf = (more: Partial<ShardFacts>) => reconcileShard({ ...shard, ...more }).state;
    expect([stateOf({}), stateOf({ nowMs: 60_000 })]).toEqual(['lost', 'running']);
    expect([stateOf({ controllerAnswers: false }), stateOf({ isCancelled: true })]).toEqual(['running', 'cancelled']);
    expect([stateOf({ endedWith: 3 }), stateOf({ endedWith: 3, nowMs: 60_000 })]).toEqual(['failed', 'failed']);
  });
});

test('rows of squeue and sacct, with the last run of a requeued task', () => {
  expect(parseSqueue('8_3|11|RUNNING|None|gpu2\n8_[4-9%2]|8|PENDING|Resources|\n')).toMatchObject([
    { task: '8_3', state: 'RUNNING', reason: null, node: 'gpu2' },
  ]);
  expect(parseSacct('8_3|11|CANCELLED by 0|0:15|gpu2|x|y\n8_4|12|FAILED|42:0|gpu1|x|y\n')).toMatchObject([
    { task: '8_3', state: 'CANCELLED', exitCode: 0, signal: 15 },
    { task: '8_4', state: 'FAILED', exitCode: 42, signal: null },
  ]);
});
