import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

import { BenchError, EnvironmentLackingError, InterruptedError, UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import type { Shard } from '../../tools/slurm/names.ts';
import { planOfShard } from '../../matrix/plan/shards.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { type AttemptRecord, MAX_RESTARTS, readAttempts, writeAttempt } from './attempts.ts';
import { readBundle } from './bundle.ts';
import { finishBundle } from './finish-bundle.ts';
import { RunFolder, type RunPlan } from './run-folder.ts';
import { earlierAttempts, isSameMachineModel, takeUp } from './take-up.ts';
import { type TaskIdentity, taskIdentity } from './task-identity.ts';
import { withLockedClocks } from '../../machine/lock-clocks.ts';
import type { Io } from '../../cli/io.ts';
import { machinesFor } from '../../run/share-out.ts';
import { programOfNode, sweepShard } from './shard-sweep.ts';

export interface WorkerOptions {
  readonly run: string;
  readonly shardOffset: number;
}

/** `bench worker`: one shard, inside a Slurm job. Leaves one bundle, or nothing. */
export async function worker(options: WorkerOptions, io: Io): Promise<ExitCode> {
  const folder = new RunFolder(resolve(io.cwd, options.run));
  // A missing folder of the job is no error for Slurm: it starts the job in /tmp.
  const plan = await folder.readPlan();
  const identity = taskIdentity(io.env);
  if (identity?.arrayIndex === undefined || identity.arrayIndex === null) {
    throw new UsageError(
      'bench worker runs inside a job array of Slurm: `bench run MATRIX --executor slurm` submits it',
    );
  }
  const index = options.shardOffset + identity.arrayIndex;
  const shard = plan.shards[index];
  if (shard === undefined) {
    throw new UsageError(`shard ${index}: the plan has ${plan.shards.length}`);
  }
  const attempt = new Attempt(folder, plan, shard, identity, io);
  return attempt.work();
}

class Attempt {
  private readonly folder: RunFolder;
  private readonly plan: RunPlan;
  private readonly shard: Shard;
  private readonly io: Io;
  private record: AttemptRecord;

  constructor(folder: RunFolder, plan: RunPlan, shard: Shard, identity: TaskIdentity, io: Io) {
    this.folder = folder;
    this.plan = plan;
    this.shard = shard;
    this.io = io;
    const { jobId, node, restart, task } = identity;
    this.record = {
      schemaVersion: 1,
      planSha256: plan.sha256,
      shard: shard.index,
      jobId,
      restart,
      task,
      node,
      gpuName: null,
      gpuUuids: [],
      driver: null,
      exclusive: plan.settings.exclusive !== false,
      startedAt: io.now().toISOString(),
      endedAt: null,
      outcome: 'working',
      signal: null,
      exitCode: null,
      problem: null,
      takenUp: 0,
    };
  }

  async work(): Promise<ExitCode> {
    try {
      const outcome = await this.outcome();
      await this.end({ outcome, exitCode: EXIT_CODES.fine });
      return EXIT_CODES.fine;
    } catch (error) {
      const isInterrupted = error instanceof InterruptedError || this.io.signal.aborted;
      const exitCode = error instanceof BenchError ? error.exitCode : EXIT_CODES.internalError;
      await this.end({
        outcome: isInterrupted ? 'interrupted' : 'failed',
        exitCode: isInterrupted ? EXIT_CODES.interrupted : exitCode,
        signal: this.io.signal.aborted ? String(this.io.signal.reason) : null,
        problem: error instanceof Error ? printable(error.message.split('\n')[0] ?? '') : null,
      }).catch(() => {});
      if (!isInterrupted) throw error;
      throw new InterruptedError(
        `interrupted (${String(this.io.signal.reason)}); what was measured is kept for the next attempt`,
        { cause: error },
      );
    }
  }

  private async outcome(): Promise<AttemptRecord['outcome']> {
    const { folder, io, record, shard } = this;
    const name = `shard ${shard.index}`;
    if ((await readBundle(folder.bundle(shard.index))).kind === 'read') {
      io.err(`${name}: another attempt's bundle is there already\n`);
      return 'late';
    }
    if (record.restart >= MAX_RESTARTS) {
      io.err(`${name}: given up, it was restarted ${record.restart} times\n`);
      return 'abandoned';
    }
    await this.save();
    const work = join(folder.temporary, `${shard.index}.${record.jobId}.${record.restart}`);
    await mkdir(work, { recursive: true }).catch((error: unknown) => {
      throw new EnvironmentLackingError(
        `${printable(work)}: cannot be made (${error instanceof Error ? error.message : error}): is the folder of the run on a file system that this node can write to?`,
      );
    });
    await this.measure(work);
    const { gpuName, gpuUuids, driver, exclusive, jobId, node, restart, startedAt } = this.record;
    const isFirst = await finishBundle(work, folder.bundle(shard.index), {
      sweepId: this.plan.sweep.sweepId,
      planSha256: this.plan.sha256,
      shard: shard.index,
      jobId,
      restart,
      node,
      gpuName,
      gpuUuids,
      driver,
      exclusive,
      startedAt,
      endedAt: io.now().toISOString(),
    });
    await rm(work, { recursive: true, force: true });
    if (!isFirst) io.err(`${name}: another attempt was faster, its bundle counts\n`);
    return isFirst ? 'bundled' : 'late';
  }

  private async measure(work: string): Promise<void> {
    const { io, plan } = this;
    const program = await programOfNode(plan.stored, this.record.node, io);
    const machines = await machinesFor(program, null, io);
    const [machine] = machines;
    const { gpuName, gpuUuid, driver } = machine.environment;
    this.record = {
      ...this.record,
      gpuName: gpuName ?? null,
      gpuUuids: gpuUuid ? [gpuUuid] : [],
      driver: driver ?? null,
    };
    await this.takeUpEarlier(work);
    await this.save();
    const stored = { ...plan.stored, plan: planOfShard(plan.stored.plan, this.shard) };
    const lock = { wish: stored.lockClocks, isTold: true };
    // The store of a worker is private and short-lived: SQLite over a network file system is not sound.
    await inTemporaryFolder('worker', (local) =>
      withLockedClocks(lock, machines, stored.plan, program, io, ([locked]) =>
        sweepShard({ plan, stored, program, machine: locked, work, local }, io),
      ),
    );
  }

  private async takeUpEarlier(work: string): Promise<void> {
    const { folder, io, plan, record, shard } = this;
    const { sweepId } = plan.sweep;
    const to = join(work, 'artefacts', sweepId);
    const attempts = readAttempts(folder, shard.index);
    for (const name of earlierAttempts(folder.temporary, shard.index, basename(work))) {
      const [, jobId, restart] = name.split('.');
      const earlier = attempts.find((attempt) => attempt.jobId === jobId && attempt.restart === Number(restart));
      if (earlier === undefined || !isSameMachineModel(earlier, record)) continue;
      if (!existsSync(to)) await mkdir(to, { recursive: true });
      const part = planOfShard(plan.stored.plan, shard);
      const takenUp = await takeUp(join(folder.temporary, name), to, sweepId, part);
      if (takenUp === 0) continue;
      io.err(`${takenUp} runs are taken over from an earlier attempt on ${earlier.node}\n`);
      this.record = { ...this.record, takenUp };
      return;
    }
  }

  private async save(): Promise<void> {
    await writeAttempt(this.folder, this.record).catch((error: unknown) => {
      throw new EnvironmentLackingError(
        `${printable(this.folder.path)}: cannot be written to (${error instanceof Error ? error.message : error}): is it on a file system that this node can write to?`,
      );
    });
  }

  private async end(how: Pick<AttemptRecord, 'exitCode' | 'outcome'> & Partial<AttemptRecord>): Promise<void> {
    this.record = { ...this.record, ...how, endedAt: this.io.now().toISOString() };
    await this.save();
  }
}
