import { constants } from 'node:os';

import * as z from 'zod';

import { type CellKey, type Immutable, count, textOrNull } from '../../records/scalars.ts';

/** The work of one task. Cells that are compared with each other are in the same shard. */
export interface Shard {
  readonly index: number;
  readonly cellKeys: readonly CellKey[];
  readonly estimateS: number;
}

export const SHARD_STATES = ['planned', 'queued', 'running', 'done', 'failed', 'timeout', 'cancelled', 'lost'] as const;

export const shardStatusSchema = z.strictObject({
  shard: count,
  state: z.enum(SHARD_STATES),
  reason: z.string(),
  /** Null before submission. */
  task: textOrNull.describe('As Slurm names it: 8_3'),
  node: textOrNull,
  restarts: count.nullable(),
  exitCode: z.number().int().nullable(),
  signal: textOrNull,
  log: textOrNull,
  lastLines: z.array(z.string()).describe('The end of the log, with the error'),
});

export type ShardStatus = Immutable<z.infer<typeof shardStatusSchema>>;

/** True if the state does not change any more on its own. */
export function isOver({ state }: Pick<ShardStatus, 'state'>): boolean {
  return state !== 'planned' && state !== 'queued' && state !== 'running';
}

/** What the run folder and the scheduler say of a shard that is not finished. */
export interface ShardFacts {
  readonly isSubmitted: boolean;
  readonly isCancelled: boolean;
  /** Exit code of the newest job's newest attempt; null while it runs, or before the first one. */
  readonly endedWith: number | null;
  /** The last time at which Slurm or the worker reported it as running. */
  readonly lastSeenMs: number;
  readonly row: TaskRow | null;
  /** True for a row of accounting; active tasks are in squeue. */
  readonly isPast: boolean;
  readonly controllerAnswers: boolean;
  readonly nowMs: number;
  readonly lostAfterMs: number;
}

type Conclusion = Pick<ShardStatus, 'state' | 'reason'>;

const LIVING = ['CONFIGURING', 'RUNNING', 'COMPLETING', 'SUSPENDED', 'SIGNALING', 'STAGE_OUT', 'STOPPED', 'RESIZING'];
/** A task in one of these states will run again while squeue lists it, because requeue is always on. */
const REQUEUED = ['REQUEUED', 'REQUEUE_HOLD', 'SPECIAL_EXIT', 'PREEMPTED', 'NODE_FAIL'];
const ENDED = ['DEADLINE', 'BOOT_FAIL', 'REVOKED'];

/** Known to Slurm and not ended. */
export function isLiving(state: string): boolean {
  return state === 'PENDING' || LIVING.includes(state) || REQUEUED.includes(state);
}

/** The state of an unfinished shard. Finished shards are final, whatever Slurm reports. */
export function reconcileShard(shard: ShardFacts): Conclusion {
  const { row } = shard;
  if (!shard.isSubmitted) return { state: 'planned', reason: 'not submitted' };
  if (row === null) return concludeMissing(shard);
  if (row.state === 'PENDING') return { state: 'queued', reason: row.reason ?? '' };
  if (LIVING.includes(row.state)) return { state: 'running', reason: row.state === 'RUNNING' ? '' : row.state };
  if (REQUEUED.includes(row.state)) {
    if (!shard.isPast) return { state: 'queued', reason: row.state };
    // For a short time, only accounting lists a requeued task.
    return isWaitOver(shard) ? { state: 'failed', reason: row.state } : { state: 'running', reason: SETTLING.unlisted };
  }
  return concludeEnded(row, shard);
}

function concludeEnded(row: TaskRow, shard: ShardFacts): Conclusion {
  const { state } = row;
  if (state === 'COMPLETED') {
    return isWaitOver(shard)
      ? { state: 'lost', reason: 'ended well, but left no results' }
      : { state: 'running', reason: SETTLING.ended };
  }
  if (state === 'FAILED') return { state: 'failed', reason: failureText(row, shard) };
  // A state that is not in the tables may not be final.
  return ENDINGS[state] ?? { state: ENDED.includes(state) ? 'failed' : 'running', reason: state };
}

const ENDINGS: Readonly<Record<string, Conclusion>> = {
  TIMEOUT: { state: 'timeout', reason: 'time limit' },
  OUT_OF_MEMORY: { state: 'failed', reason: 'out of memory' },
  CANCELLED: { state: 'cancelled', reason: '' },
};

/** The reason of a shard while the controller cannot be asked. */
export const NO_ANSWER = 'Slurm does not answer';

function concludeMissing(shard: ShardFacts): Conclusion {
  if (!shard.controllerAnswers) return { state: 'running', reason: NO_ANSWER };
  if (shard.isCancelled) return { state: 'cancelled', reason: '' };
  // A preempted task ends like this before Slurm lists it again.
  const mayComeBack = shard.endedWith === INTERRUPTED && !isWaitOver(shard);
  if (shard.endedWith !== null && shard.endedWith !== 0 && !mayComeBack) {
    return { state: 'failed', reason: failureText(null, shard) };
  }
  return isWaitOver(shard)
    ? { state: 'lost', reason: 'Slurm no longer knows it' }
    : { state: 'running', reason: SETTLING.unlisted };
}

/** Nothing is running, but files may arrive late over a network. */
const SETTLING = { ended: 'ended; waiting for its results', unlisted: 'Slurm does not list it' };

export function isSettling({ state, reason }: Conclusion): boolean {
  return state === 'running' && Object.values(SETTLING).includes(reason);
}

function isWaitOver({ controllerAnswers, lastSeenMs, lostAfterMs, nowMs }: ShardFacts): boolean {
  return controllerAnswers && nowMs - lastSeenMs > lostAfterMs;
}

function failureText(row: TaskRow | null, { endedWith }: ShardFacts): string {
  if (row !== null && row.signal !== null) return `ended by ${signalName(row.signal)}`;
  const code = row?.exitCode ?? endedWith;
  if (code !== null && code !== 0) return `exit code ${code}`;
  return row?.reason ?? 'failed';
}

/** As after Ctrl-C: the signal before a time limit or a preemption. */
const INTERRUPTED = 130;

export function signalName(number: number): string {
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return name ?? `signal ${number}`;
}

const HOPELESS =
  /DependencyNeverSatisfied|NodeNotAvail|PartitionNodeLimit|PartitionConfig|PartitionTimeLimit|BadConstraints|QOS|AssocGrp|AssocMax|Invalid|AccountNotAllowed/;

export function isHopeless(reason: string): boolean {
  return HOPELESS.test(reason);
}

export interface TaskRow {
  /** Such as `8_3`. */
  readonly task: string;
  /** In capitals, such as `RUNNING`. */
  readonly state: string;
  readonly reason: string | null;
  readonly node: string | null;
  /** Null if this source does not report it. */
  readonly exitCode: number | null;
  /** Signal number; null if none. */
  readonly signal: number | null;
  readonly restarts: number | null;
}

export const SQUEUE_FORMAT = '%i|%A|%T|%r|%N';

export function parseSqueue(text: string): TaskRow[] {
  return text.split('\n').flatMap((line) => {
    const [task = '', , state = '', reason = '', node = ''] = line.trim().split('|');
    return isTask(task) ? [{ ...UNSAID, task, state, reason: wordOrNull(reason), node: wordOrNull(node) }] : [];
  });
}

export const SACCT_FORMAT = 'jobid,jobidraw,state,exitcode,nodelist,start,end';

/** Parses `sacct -n -X -P`. The last line of a task is its last run. */
export function parseSacct(text: string): TaskRow[] {
  return text.split('\n').flatMap((line) => {
    const [task = '', , state = '', exit = '', node = ''] = line.trim().split('|');
    if (!isTask(task)) return [];
    return [{ ...UNSAID, task, state: state.split(' ')[0] ?? '', node: wordOrNull(node), ...exitOf(exit) }];
  });
}

/** Reads `scontrol show job ID -o`, which prints one line for each task that the controller still has. */
export function parseScontrolJobs(text: string): TaskRow[] {
  return text.split('\n').flatMap((line) => {
    const fields = new Map(
      [...line.matchAll(/(?<=^| )([^ =]*)=([^ ]*)/g)].map(([, name, value = '']) => [name, value]),
    );
    const [job, index] = [fields.get('ArrayJobId'), fields.get('ArrayTaskId')];
    const state = fields.get('JobState');
    const task = `${job}_${index}`;
    if (state === undefined || !isTask(task)) return [];
    const restarts = Number(fields.get('Restarts') ?? Number.NaN);
    return [
      {
        task,
        state,
        reason: wordOrNull(fields.get('Reason') ?? ''),
        node: wordOrNull(fields.get('NodeList') ?? ''),
        restarts: Number.isInteger(restarts) ? restarts : null,
        ...exitOf(fields.get('ExitCode') ?? ''),
      },
    ];
  });
}

const UNSAID = { reason: null, node: null, exitCode: null, signal: null, restarts: null };

function isTask(text: string): boolean {
  return /^\d+_\d+$/.test(text);
}

/** Reads an exit field: `42:0` is exit code 42, `0:9` is signal 9. */
function exitOf(text: string): Pick<TaskRow, 'exitCode' | 'signal'> {
  const [, code, signal] = /^(\d+):(\d+)$/.exec(text) ?? [];
  return {
    exitCode: code === undefined ? null : Number(code),
    signal: signal === undefined || signal === '0' ? null : Number(signal),
  };
}

function wordOrNull(text: string): string | null {
  return text === '' || text === 'None' || text === '(null)' || text === 'None assigned' ? null : text;
}
