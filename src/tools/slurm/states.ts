import { constants } from 'node:os';

import * as z from 'zod';

import { type Immutable, count, textOrNull } from '../../records/scalars.ts';

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
  /** Exit code of the newest job's newest attempt; null while it runs, or before the first one. */
  readonly endedWith: number | null;
  readonly row: TaskRow | null;
  readonly controllerAnswers: boolean;
  /** Neither Slurm nor the worker has reported it as running for `--lost-after`. */
  readonly isOverdue: boolean;
}

type Conclusion = Pick<ShardStatus, 'state' | 'reason'>;

const LIVING = ['CONFIGURING', 'RUNNING', 'COMPLETING', 'SUSPENDED', 'SIGNALING', 'STAGE_OUT', 'STOPPED', 'RESIZING'];
/** A task in one of these states will run again while squeue lists it, because requeue is always on. */
const REQUEUED = ['REQUEUED', 'REQUEUE_HOLD', 'SPECIAL_EXIT', 'PREEMPTED', 'NODE_FAIL'];

/** Known to Slurm and not ended. */
export function isLiving({ isPast, state }: TaskRow): boolean {
  return !isPast && ['PENDING', ...LIVING, ...REQUEUED].includes(state);
}

/** The state of an unfinished shard. Finished shards are final, whatever Slurm reports. */
export function reconcileShard(shard: ShardFacts): Conclusion {
  const { isOverdue, row } = shard;
  if (!shard.isSubmitted) return { state: 'planned', reason: 'not submitted' };
  if (row === null) return concludeMissing(shard);
  const { state } = row;
  if (state === 'PENDING') return { state: 'queued', reason: row.reason ?? '' };
  if (state === 'RUNNING') return { state: 'running', reason: '' };
  if (REQUEUED.includes(state)) {
    if (!row.isPast) return { state: 'queued', reason: state };
    // For a short time, only accounting lists a requeued task.
    return isOverdue ? { state: 'failed', reason: state } : { state: 'running', reason: SETTLING.unlisted };
  }
  if (state === 'COMPLETED') {
    return isOverdue
      ? { state: 'lost', reason: 'ended well, but left no results' }
      : { state: 'running', reason: SETTLING.ended };
  }
  if (state === 'FAILED') return { state: 'failed', reason: failureText(row, shard.endedWith) };
  if (['DEADLINE', 'BOOT_FAIL', 'REVOKED'].includes(state)) return { state: 'failed', reason: state };
  // A state that is not in the tables may not be final.
  return ENDINGS[state] ?? { state: 'running', reason: state };
}

const ENDINGS: Readonly<Record<string, Conclusion>> = {
  TIMEOUT: { state: 'timeout', reason: 'time limit' },
  OUT_OF_MEMORY: { state: 'failed', reason: 'out of memory' },
  CANCELLED: { state: 'cancelled', reason: '' },
};

/** The reason of a shard while the controller cannot be asked. */
export const NO_ANSWER = 'Slurm does not answer';

function concludeMissing({ controllerAnswers, endedWith, isOverdue }: ShardFacts): Conclusion {
  if (!controllerAnswers) return { state: 'running', reason: NO_ANSWER };
  // A preempted task ends like this before Slurm lists it again.
  const mayComeBack = endedWith === INTERRUPTED && !isOverdue;
  if (endedWith !== null && endedWith !== 0 && !mayComeBack) {
    return { state: 'failed', reason: `exit code ${endedWith}` };
  }
  return isOverdue
    ? { state: 'lost', reason: 'Slurm no longer knows it' }
    : { state: 'running', reason: SETTLING.unlisted };
}

/** Nothing is running, but files may arrive late over a network. */
const SETTLING = { ended: 'ended; waiting for its results', unlisted: 'Slurm does not list it' };

export function isSettling({ state, reason }: Conclusion): boolean {
  return state === 'running' && Object.values(SETTLING).includes(reason);
}

function failureText({ exitCode, reason, signal }: TaskRow, endedWith: number | null): string {
  if (signal !== null) return `ended by ${signal}`;
  const code = exitCode ?? endedWith;
  return code !== null && code !== 0 ? `exit code ${code}` : (reason ?? 'failed');
}

/** As after Ctrl-C: the signal before a time limit or a preemption. */
const INTERRUPTED = 130;

const HOPELESS =
  /DependencyNeverSatisfied|NodeNotAvail|PartitionNodeLimit|PartitionConfig|PartitionTimeLimit|BadConstraints|QOS|AssocGrp|AssocMax|Invalid|AccountNotAllowed/;

export function isHopeless(reason: string): boolean {
  return HOPELESS.test(reason);
}

/** What squeue or accounting says of a task; null for what it does not report. */
export interface TaskRow extends Pick<ShardStatus, 'exitCode' | 'node' | 'restarts' | 'signal'> {
  /** Such as `8_3`. */
  readonly task: string;
  /** In capitals, such as `RUNNING`. */
  readonly state: string;
  readonly reason: string | null;
  /** True for a row of accounting; squeue lists active tasks, and ended ones for some minutes. */
  readonly isPast: boolean;
}

export const SQUEUE_FORMAT = ['JobArrayID', 'State', 'Reason', 'NodeList', 'exit_code', 'RestartCnt']
  .map((field) => `${field}:|`)
  .join();

export function parseSqueue(text: string): TaskRow[] {
  return text.split('\n').flatMap((line): TaskRow[] => {
    const [task = '', state = '', reason = '', node = '', exit = '', restarts = ''] = line.trim().split('|');
    if (!isTask(task)) return [];
    const isEnded = /^(?:FAILED|OUT_OF|TIMEOUT)/.test(state);
    const ending = { ...exitOf(isEnded ? exit : ''), restarts: isEnded && restarts !== '' ? Number(restarts) : null };
    return [{ task, state, reason: wordOrNull(reason), node: wordOrNull(node), ...ending, isPast: false }];
  });
}

export const SACCT_FORMAT = 'jobid,state,exitcode,nodelist';

/** Parses `sacct -n -X -P`. The last line of a task is its last run. */
export function parseSacct(text: string): TaskRow[] {
  return text.split('\n').flatMap((line): TaskRow[] => {
    const [task = '', state = '', exit = '', node = ''] = line.trim().split('|');
    if (!isTask(task)) return [];
    const row = { task, state: state.split(' ')[0] ?? '', node: wordOrNull(node), ...exitOf(exit) };
    return [{ ...row, reason: null, restarts: null, isPast: true }];
  });
}

function isTask(text: string): boolean {
  return /^\d+_\d+$/.test(text);
}

/** `42:0` is exit code 42, `0:9` is signal 9. squeue prints the status of `wait`: 10752 and 9. */
function exitOf(text: string): Pick<TaskRow, 'exitCode' | 'signal'> {
  const [, first, second] = /^(\d+)(?::(\d+))?$/.exec(text) ?? [];
  if (first === undefined) return { exitCode: null, signal: null };
  const status = second === undefined ? Number(first) : (Number(first) << 8) | Number(second);
  // The next bit says whether there is a core file.
  const number = status & 0x7f;
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return { exitCode: status >> 8, signal: number === 0 ? null : (name ?? `signal ${number}`) };
}

function wordOrNull(text: string): string | null {
  return text === '' || text === 'None' || text === '(null)' || text === 'None assigned' ? null : text;
}
