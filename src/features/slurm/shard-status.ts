import { readdirSync } from 'node:fs';

import { printable } from '../../text/printable.ts';
import type { ShardStatus } from '../../tools/slurm/names.ts';
import { askSlurm, type SlurmAnswer } from './ask-slurm.ts';
import { type AttemptRecord, readAttempts } from './attempts.ts';
import { readBundle } from './bundle.ts';
import { readJournal, type SubmittedEntry, submittedJobs, taskOf } from './journal.ts';
import { lastLines } from './last-lines.ts';
import { concludeShard, isLiving, isUnknownState, signalName } from '../../tools/slurm/states.ts';
import type { RunFolder, RunPlan } from './run-folder.ts';
import { readSeen, saveSeen } from './seen.ts';
import type { SlurmClient } from '../../tools/slurm/slurm-client.ts';

/** Without cgroups Slurm says so in the log alone. */
const OUT_OF_MEMORY = /slurmstepd.*(?:exceeded .*memory limit|oom.kill)/i;

export interface WatchSettings {
  /** Nothing was seen of a task for so long, and nobody knows it: it is lost. */
  readonly lostAfterS: number;
  readonly now: () => Date;
  readonly onNote: (text: string) => void;
}

/** Tells of every shard of a run: bundles are the truth, Slurm only explains one that is missing. */
export class ShardWatch {
  private readonly folder: RunFolder;
  private readonly plan: RunPlan;
  private readonly client: SlurmClient;
  private readonly settings: WatchSettings;
  private readonly bundled = new Set<number>();
  private readonly seenMs: Map<number, number>;
  private readonly noted = new Set<string>();

  constructor(folder: RunFolder, plan: RunPlan, client: SlurmClient, settings: WatchSettings) {
    this.folder = folder;
    this.plan = plan;
    this.client = client;
    this.settings = settings;
    this.seenMs = readSeen(folder.seenPath);
  }

  /** Bundles of these shards were read by somebody else. */
  addBundled(shards: ReadonlySet<number>): void {
    for (const shard of shards) this.bundled.add(shard);
  }

  /** Looks at the bundles alone: most tasks end there, at no cost to the controller. @returns how many there are */
  async lookAtBundles(): Promise<number> {
    // A network file system keeps old listings: to list a folder anew brings the new one.
    for (const name of readdirSync(this.folder.bundles)) {
      const shard = Number(name);
      if (!/^\d+$/.test(name) || this.bundled.has(shard)) continue;
      if ((await readBundle(this.folder.bundle(shard))).kind === 'read') this.bundled.add(shard);
    }
    return this.bundled.size;
  }

  /** The state of each shard, by the bundles and, for those without, by Slurm. */
  async look(): Promise<ShardStatus[]> {
    await this.lookAtBundles();
    const journal = readJournal(this.folder);
    const jobs = submittedJobs(journal);
    const cancelled = cancelledShards(journal);
    const missing = this.plan.shards.filter(({ index }) => !this.bundled.has(index));
    const asked = missing.flatMap(({ index }) => taskOf(jobs, index)?.job ?? []);
    const answer = await askSlurm(
      this.client,
      [...new Set(asked)],
      (shard) => this.bundled.has(shard),
      (text) => this.note(text),
    );
    // A bundle that came while Slurm was asked.
    await this.lookAtBundles();
    const nowMs = this.settings.now().getTime();
    const statuses: ShardStatus[] = [];
    for (const { index } of this.plan.shards) {
      const attempts = this.bundled.has(index) ? [] : readAttempts(this.folder, index);
      statuses.push(await this.statusOf(index, jobs, attempts, answer, cancelled.has(index), nowMs));
    }
    await saveSeen(this.folder.seenPath, this.seenMs);
    return statuses;
  }

  private async statusOf(
    shard: number,
    jobs: readonly SubmittedEntry[],
    attempts: readonly AttemptRecord[],
    answer: SlurmAnswer,
    isCancelled: boolean,
    nowMs: number,
  ): Promise<ShardStatus> {
    const { folder } = this;
    const task = taskOf(jobs, shard);
    const base = { shard, task: task?.task ?? null, log: task === null ? null : folder.log(task.task), lastLines: [] };
    if (this.bundled.has(shard)) {
      const nothing = { node: null, restarts: null, exitCode: null, signal: null };
      return { ...base, ...nothing, state: 'done', reason: '' };
    }
    const row = task === null ? null : (answer.rows.get(task.task) ?? null);
    const own = attempts.findLast((attempt) => attempt.task === base.task) ?? null;
    if (row !== null && answer.living.has(row.task) && isLiving(row.state)) {
      this.seenMs.set(shard, nowMs);
    }
    if (row !== null) this.noteUnknown(row.state);
    const { state, reason } = concludeShard(
      {
        isSubmitted: task !== null,
        isCancelled: isCancelled,
        isAbandoned: own?.outcome === 'abandoned',
        endedWith: own?.exitCode ?? null,
        lastSeenMs: Math.max(
          this.seenMs.get(shard) ?? 0,
          task === null ? 0 : Date.parse(task.job.at),
          own === null ? 0 : Date.parse(own.endedAt ?? own.startedAt),
        ),
      },
      {
        row,
        isPast: row !== null && !answer.living.has(row.task),
        controllerAnswers: answer.isAnswering,
        nowMs,
        lostAfterMs: this.settings.lostAfterS * 1000,
      },
    );
    const isBad = state === 'failed' || state === 'timeout' || state === 'lost';
    const lines = isBad && base.log !== null ? await lastLines(base.log) : [];
    const isMemory = state === 'failed' && lines.some((line) => OUT_OF_MEMORY.test(line));
    return {
      ...base,
      state,
      reason: isMemory ? 'out of memory' : withProblem(reason, state === 'failed' ? own : null),
      node: row?.node ?? own?.node ?? null,
      restarts: row?.restarts ?? own?.restart ?? null,
      exitCode: row?.exitCode ?? own?.exitCode ?? null,
      signal: row?.signal ? signalName(row.signal) : (own?.signal ?? null),
      lastLines: lines,
    };
  }

  private noteUnknown(state: string): void {
    if (isUnknownState(state)) {
      this.note(`Slurm says ${printable(state)}, which bench does not know: taken as running`);
    }
  }

  private note(text: string): void {
    if (this.noted.has(text)) return;
    this.noted.add(text);
    this.settings.onNote(text);
  }
}

function withProblem(reason: string, attempt: AttemptRecord | null): string {
  return attempt?.problem ? `${reason}: ${attempt.problem}` : reason;
}

function cancelledShards(journal: ReturnType<typeof readJournal>): Set<number> {
  const cancelled = new Set<number>();
  for (const entry of journal) {
    if (entry.kind === 'cancelled') for (const shard of entry.shards) cancelled.add(shard);
    if (entry.kind === 'submitted') for (const shard of entry.shards) cancelled.delete(shard);
  }
  return cancelled;
}
