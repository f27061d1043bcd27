import { statSync } from 'node:fs';

import { lastLinesOf } from '../../artefacts/files.ts';
import type { Io } from '../../cli/io.ts';
import { printable } from '../../text/printable.ts';
import { isLiving, isUnknownState, reconcileShard, type ShardStatus, signalName } from '../../tools/slurm/states.ts';
import { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { finishedShards, readAttempts, type RunFolder, type RunPlan } from './run-folder.ts';
import {
  askSlurm,
  cancelledShards,
  readJobs,
  type SlurmAnswer,
  type SubmittedArray,
  submittedArrays,
  taskOf,
} from './jobs.ts';

const TAIL_LINES = 3;

/** Without cgroups, Slurm reports lack of memory only in the log. */
const OUT_OF_MEMORY = /slurmstepd.*(?:exceeded .*memory limit|oom.kill)/i;

/** State of every shard. A finished folder is decisive, and Slurm only explains missing ones. */
export class ShardWatch {
  private readonly folder: RunFolder;
  private readonly plan: RunPlan;
  private readonly client: SlurmClient;
  private readonly io: Io;
  private readonly lostAfterS: number;
  private done: ReadonlySet<number> = new Set();
  private readonly seenMs = new Map<number, number>();
  private readonly noted = new Set<string>();

  /** @param lostAfter seconds after which a shard that Slurm does not list counts as lost */
  constructor(plan: RunPlan, { lostAfter }: { readonly lostAfter: number }, io: Io) {
    this.folder = plan.folder;
    this.plan = plan;
    this.client = new SlurmClient(io.env, io.signal);
    this.lostAfterS = lostAfter;
    this.io = io;
  }

  /**
   * Checks only folders, which puts no load on the controller.
   * @returns the number of finished shards
   */
  async lookAtFolders(): Promise<number> {
    this.done = new Set(await finishedShards(this.plan));
    return this.done.size;
  }

  /** State of every shard, from its folder or else from Slurm. */
  async look(): Promise<ShardStatus[]> {
    await this.lookAtFolders();
    const entries = readJobs(this.folder);
    const arrays = submittedArrays(entries);
    const cancelled = cancelledShards(entries);
    const missing = this.plan.shards.filter(({ index }) => !this.done.has(index));
    const arrayIds = new Set(missing.flatMap(({ index }) => taskOf(arrays, index)?.array ?? []));
    const isDone = (shard: number): boolean => this.done.has(shard);
    const answer = await askSlurm(this.client, [...arrayIds], isDone, (text) => this.note(text));
    // A shard may have finished during the query.
    await this.lookAtFolders();
    const nowMs = this.io.now().getTime();
    const statuses: ShardStatus[] = [];
    for (const { index } of this.plan.shards) {
      statuses.push(await this.statusOf(index, arrays, answer, cancelled.has(index), nowMs));
    }
    return statuses;
  }

  private async statusOf(
    shard: number,
    arrays: readonly SubmittedArray[],
    answer: SlurmAnswer,
    isCancelled: boolean,
    nowMs: number,
  ): Promise<ShardStatus> {
    const { folder } = this;
    const task = taskOf(arrays, shard);
    const base = { shard, task: task?.task ?? null, log: task === null ? null : folder.log(task.task), lastLines: [] };
    if (this.done.has(shard)) {
      return { ...base, node: null, restarts: null, exitCode: null, signal: null, state: 'done', reason: '' };
    }
    const row = task === null ? null : (answer.rows.get(task.task) ?? null);
    const attempts = readAttempts(folder, shard);
    const own = attempts.findLast((attempt) => attempt.task === base.task) ?? null;
    if (row !== null && answer.living.has(row.task) && isLiving(row.state)) this.seenMs.set(shard, nowMs);
    if (row !== null && isUnknownState(row.state)) {
      this.note(`Slurm says ${printable(row.state)}, which bench does not know: taken as running`);
    }
    const { state, reason } = reconcileShard(
      {
        isSubmitted: task !== null,
        isCancelled,
        isAbandoned: own?.outcome === 'abandoned',
        endedWith: own?.exitCode ?? null,
        lastSeenMs: Math.max(
          this.seenMs.get(shard) ?? 0,
          task === null ? 0 : Date.parse(task.array.at),
          base.log === null ? 0 : (statSync(base.log, { throwIfNoEntry: false })?.mtimeMs ?? 0),
          own === null ? 0 : Date.parse(own.endedAt ?? own.startedAt),
        ),
      },
      {
        row,
        isPast: row !== null && !answer.living.has(row.task),
        controllerAnswers: answer.isAnswering,
        nowMs,
        lostAfterMs: this.lostAfterS * 1000,
      },
    );
    const isBad = state === 'failed' || state === 'timeout' || state === 'lost';
    const lines = isBad && base.log !== null ? lastLinesOf(base.log, TAIL_LINES).map(printable) : [];
    const problem = state === 'failed' && own?.problem ? `: ${own.problem}` : '';
    const isMemory = state === 'failed' && lines.some((line) => OUT_OF_MEMORY.test(line));
    return {
      ...base,
      state,
      reason: isMemory ? 'out of memory' : `${reason}${problem}`,
      node: row?.node ?? own?.node ?? null,
      restarts: row?.restarts ?? own?.restart ?? null,
      exitCode: row?.exitCode ?? own?.exitCode ?? null,
      signal: row?.signal ? signalName(row.signal) : (own?.signal ?? null),
      lastLines: lines,
    };
  }

  private note(text: string): void {
    if (this.noted.has(text)) return;
    this.noted.add(text);
    this.io.err(`note: ${printable(text)}\n`);
  }
}
