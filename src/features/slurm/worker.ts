import { resolve } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { BenchError, EnvironmentLackingError, InterruptedError, UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { withLockedClocks } from '../../machine/lock-clocks.ts';
import { planOfShard } from '../../matrix/plan/shards.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { machinesFor } from '../../run/share-out.ts';
import { printable } from '../../text/printable.ts';
import { readAttempt, type ShardAttempt, writeAttempt } from './attempt.ts';
import { finishShard } from './finish-shard.ts';
import { RunFolder, type RunPlan } from './run-folder.ts';
import { programOfNode, sweepShard } from './shard-sweep.ts';
import { takeUp } from './take-up.ts';
import { type TaskIdentity, taskIdentity } from './task-identity.ts';

export interface WorkerOptions {
  readonly run: string;
  readonly shardOffset: number;
}

/** A shard that breaks nodes must not be requeued for ever. */
const MAX_RESTARTS = 3;

/** `bench slurm worker`: measures one shard, inside a Slurm job. Leaves the folder of a finished shard, or none. */
export async function worker(options: WorkerOptions, io: Io): Promise<ExitCode> {
  const folder = new RunFolder(resolve(io.cwd, options.run));
  // Slurm starts a job whose folder is missing in /tmp.
  const plan = await folder.readPlan();
  const identity = taskIdentity(io.env);
  if (identity?.arrayIndex === undefined || identity.arrayIndex === null) {
    throw new UsageError(
      'bench slurm worker runs inside a job array of Slurm: `bench run MATRIX --executor slurm` submits it',
    );
  }
  const shard = options.shardOffset + identity.arrayIndex;
  if (plan.shards[shard] === undefined) throw new UsageError(`shard ${shard}: the plan has ${plan.shards.length}`);
  const attempt = newAttempt(plan, shard, identity, io);
  try {
    await measureOnce(folder, plan, attempt, io);
    return EXIT_CODES.fine;
  } catch (error) {
    const isInterrupted = error instanceof InterruptedError || io.signal.aborted;
    const exitCode = error instanceof BenchError ? error.exitCode : EXIT_CODES.internalError;
    const how: Partial<ShardAttempt> = {
      outcome: isInterrupted ? 'interrupted' : 'failed',
      exitCode: isInterrupted ? EXIT_CODES.interrupted : exitCode,
      signal: io.signal.aborted ? String(io.signal.reason) : null,
      problem: error instanceof Error ? printable(error.message.split('\n')[0] ?? '') : null,
    };
    await writeAttempt(folder, ended(attempt, io, how)).catch(() => {});
    if (!isInterrupted) throw error;
    throw new InterruptedError(
      `interrupted (${String(io.signal.reason)}); what was measured is kept for the next attempt`,
      { cause: error },
    );
  }
}

function newAttempt(plan: RunPlan, shard: number, { jobId, node, restart, task }: TaskIdentity, io: Io): ShardAttempt {
  return {
    schemaVersion: 1,
    planSha256: plan.sha256,
    shard,
    jobId,
    restart,
    task,
    node,
    startedAt: io.now().toISOString(),
    endedAt: null,
    outcome: 'working',
    signal: null,
    exitCode: null,
    problem: null,
    takenUp: 0,
    runs: {},
  };
}

async function measureOnce(folder: RunFolder, plan: RunPlan, attempt: ShardAttempt, io: Io): Promise<void> {
  const name = `shard ${attempt.shard}`;
  if ((await readAttempt(folder.shard(attempt.shard))) !== null) {
    io.err(`${name}: another attempt has finished it already\n`);
    return writeAttempt(folder, ended(attempt, io, { outcome: 'late' }));
  }
  if (attempt.restart >= MAX_RESTARTS) {
    io.err(`${name}: given up, it was restarted ${attempt.restart} times\n`);
    return writeAttempt(folder, ended(attempt, io, { outcome: 'abandoned' }));
  }
  await writeAttempt(folder, attempt).catch((error: unknown) => {
    throw new EnvironmentLackingError(
      `${printable(folder.path)}: cannot be written to (${error instanceof Error ? error.message : error}): is it on a file system that this node can write to?`,
    );
  });
  const takenUp = await measure(folder, plan, attempt, io);
  const isFirst = await finishShard(folder, plan.sweep.sweepId, ended(attempt, io, { takenUp }));
  if (!isFirst) io.err(`${name}: another attempt was faster, and that one counts\n`);
}

/** @returns how many runs were copied from an earlier attempt */
async function measure(folder: RunFolder, plan: RunPlan, attempt: ShardAttempt, io: Io): Promise<number> {
  const shard = plan.shards[attempt.shard];
  if (shard === undefined) return 0;
  const program = await programOfNode(plan.stored, attempt.node, io);
  const machines = await machinesFor(program, null, io);
  const stored = { ...plan.stored, plan: planOfShard(plan.stored.plan, shard) };
  const onNote = (text: string): void => io.err(`${text}\n`);
  const { environment } = machines[0];
  const takenUp = await takeUp(folder, attempt, plan.sweep.sweepId, stored.plan, environment, onNote);
  const lock = { wish: stored.lockClocks, isTold: true };
  const work = folder.attempt(attempt);
  await inTemporaryFolder('worker', (local) =>
    withLockedClocks(lock, machines, stored.plan, program, io, ([machine]) =>
      sweepShard({ plan, stored, program, machine, work, local }, io),
    ),
  );
  return takenUp;
}

function ended(attempt: ShardAttempt, io: Io, how: Partial<ShardAttempt>): ShardAttempt {
  return { ...attempt, exitCode: EXIT_CODES.fine, endedAt: io.now().toISOString(), ...how };
}
