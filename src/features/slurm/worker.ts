import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';

import { runFoldersIn } from '../../artefacts/copy-artefacts.ts';
import { sweepFolderOf } from '../../artefacts/layout.ts';
import type { Io } from '../../cli/io.ts';
import { BenchError, EnvironmentLackingError, InterruptedError, UsageError, errorText } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { withLockedClocks } from '../../machine/lock-clocks.ts';
import { planOfShard } from '../../matrix/plan/shards.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { machinesFor } from '../../run/gpu-worker.ts';
import { printable } from '../../text/printable.ts';
import {
  type MeasuredRun,
  readAttempt,
  readContent,
  type ShardAttempt,
  writeAttempt,
  RunFolder,
  type RunPlan,
} from './run-folder.ts';
import type { WorkerOptions } from './command.ts';
import { programOfNode, sweepShard, takeUp } from './shard-sweep.ts';

/** A shard that breaks nodes must not be requeued forever. */
const MAX_RESTARTS = 3;

/** Measures one shard inside a Slurm job. Leaves the folder of a finished shard, or none. */
export async function worker(options: WorkerOptions, io: Io): Promise<ExitCode> {
  // Slurm starts a job even if its folder is missing.
  const plan = await new RunFolder(resolve(io.cwd, options.run)).readPlan();
  const identity = taskIdentity(io.env);
  if (identity === null) {
    throw new UsageError(
      'bench slurm worker runs inside a job array of Slurm: `bench run MATRIX --executor slurm` submits it',
    );
  }
  const shard = options.shardOffset + identity.arrayIndex;
  if (plan.shards[shard] === undefined) throw new UsageError(`shard ${shard}: the plan has ${plan.shards.length}`);
  const attempt: ShardAttempt = {
    schemaVersion: 1,
    planSha256: plan.sha256,
    shard,
    ...identity.attempt,
    startedAt: io.now().toISOString(),
    endedAt: null,
    outcome: 'working',
    signal: null,
    exitCode: null,
    problem: null,
    takenUp: 0,
    runs: {},
  };
  try {
    await measureOnce(plan, attempt, io);
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
    await writeAttempt(plan.folder, ended(attempt, io, how)).catch(() => {});
    if (!isInterrupted) throw error;
    throw new InterruptedError(
      `interrupted (${String(io.signal.reason)}); what was measured is kept for the next attempt`,
      { cause: error },
    );
  }
}

async function measureOnce(plan: RunPlan, attempt: ShardAttempt, io: Io): Promise<void> {
  const { folder } = plan;
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
      `${printable(folder.path)}: cannot be written to (${errorText(error)}): is it on a file system that this node can write to?`,
    );
  });
  const takenUp = await measure(plan, attempt, io);
  const isFirst = await finishShard(plan, ended(attempt, io, { takenUp }));
  if (!isFirst) io.err(`${name}: another attempt was faster, and that one counts\n`);
}

/** @returns number of runs copied from an earlier attempt */
async function measure(plan: RunPlan, attempt: ShardAttempt, io: Io): Promise<number> {
  const shard = plan.shards[attempt.shard];
  if (shard === undefined) return 0;
  const program = await programOfNode(plan.stored, attempt.node, io);
  const machines = await machinesFor(program, null, io);
  const stored = { ...plan.stored, plan: planOfShard(plan.stored.plan, shard) };
  const { environment } = machines[0];
  const takenUp = await takeUp(plan, attempt, stored.plan, environment, io);
  const lock = { request: stored.lockClocks, isVerbose: true };
  const work = plan.folder.attempt(attempt);
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

/** Which attempt this process is, by what Slurm says in its environment; null outside a job array. */
function taskIdentity(env: EnvironmentVariables) {
  const number = (name: string): string | undefined => /^\d+$/.exec(env[name] ?? '')?.[0];
  const [jobId, array, index] = ['SLURM_JOB_ID', 'SLURM_ARRAY_JOB_ID', 'SLURM_ARRAY_TASK_ID'].map(number);
  if (jobId === undefined || index === undefined) return null;
  const task = array === undefined ? null : `${array}_${index}`;
  // The first attempt has no count.
  const restart = Number(number('SLURM_RESTART_COUNT') ?? 0);
  return { arrayIndex: Number(index), attempt: { jobId, restart, task, node: env['SLURMD_NODENAME'] || hostname() } };
}

/**
 * Records the content of every run, then renames the attempt's folder to the shard's: atomic.
 * @returns false when another attempt finished first
 */
export async function finishShard({ folder, sweep }: RunPlan, attempt: ShardAttempt): Promise<boolean> {
  const work = folder.attempt(attempt);
  const artefacts = join(work, 'artefacts');
  const sweepFolder = sweepFolderOf(artefacts, sweep.sweepId);
  const runs: Record<string, MeasuredRun> = {};
  for (const runId of runFoldersIn(sweepFolder)) runs[runId] = (await readContent(join(sweepFolder, runId))).run;
  await writeAttempt(folder, { ...attempt, outcome: 'done', runs });
  try {
    await rename(work, folder.shard(attempt.shard));
    return true;
  } catch (error) {
    if (!existsSync(folder.shard(attempt.shard))) throw error;
    await rm(artefacts, { recursive: true, force: true });
    await writeAttempt(folder, { ...attempt, outcome: 'late' });
    return false;
  }
}
