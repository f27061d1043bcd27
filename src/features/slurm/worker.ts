import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { LiveProgress } from '../../run/live-progress.ts';
import { chooseProgram, noTrtexec } from '../../cli/program.ts';
import { migrationsFolder, STORE_NAME } from '../../cli/store-location.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { machinesFor } from '../../machine/machine.ts';
import { openWorkers } from '../../run/gpu-worker.ts';
import { runSweep, withLockedClocks } from '../../run/run-sweep.ts';
import type { StoredPlan } from '../../run/stored-plan.ts';
import type { SweepContext } from '../../run/sweep-context.ts';
import { openStore } from '../../store/file/open.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import { Dialect } from '../../trtexec/arguments/dialect.ts';
import { type TrtexecProgram, probeTrtexec } from '../../trtexec/program/find-trtexec.ts';
import { converterFor, variantsForStore } from '../../variants/converter.ts';
import { NO_TENSORRT, type Plan } from '../../records/plan.ts';
import type { Io } from '../../cli/io.ts';
import {
  BenchError,
  EnvironmentLackingError,
  InterruptedError,
  UsageError,
  errorText,
  EXIT_CODES,
  type ExitCode,
  orNull,
} from '../../errors.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { printable } from '../../text/printable.ts';
import { attemptSchema, readRun, type RunFolder, type RunPlan, type ShardAttempt, writeAttempt } from './run-folder.ts';
import type { WorkerOptions } from './command.ts';
import { planOfShard } from '../../matrix/plan/shards.ts';

/** A shard that crashes nodes must not be requeued forever. */
const MAX_RESTARTS = 3;

/** Measures one shard inside a Slurm job. Leaves either the folder of a finished shard or no such folder. */
export async function worker(options: WorkerOptions, io: Io): Promise<ExitCode> {
  // Fails if the folder is missing, because Slurm starts a job even then.
  const plan = await readRun(resolve(io.cwd, options.run));
  const identity = taskIdentity(io.env);
  if (identity === null) {
    throw new UsageError(
      'bench slurm worker runs inside a job array of Slurm: `bench run MATRIX --executor slurm` submits it',
    );
  }
  const index = options.shardOffset + identity.arrayIndex;
  const shard = plan.shards[index];
  if (shard === undefined) throw new UsageError(`shard ${index}: the plan has ${plan.shards.length} shards`);
  const attempt = attemptSchema.parse({ shard: index, ...identity.attempt, startedAt: io.now().toISOString() });
  try {
    await measureOnce(plan, planOfShard(plan.stored.plan, shard), attempt, io);
    return EXIT_CODES.fine;
  } catch (cause) {
    const signal = io.signal.aborted ? String(io.signal.reason) : null;
    const text = `interrupted (${signal}); the next attempt measures the shard again`;
    const error = signal === null ? cause : new InterruptedError(text, { cause });
    const how: Partial<ShardAttempt> = {
      outcome: 'failed',
      exitCode: error instanceof BenchError ? error.exitCode : EXIT_CODES.internalError,
      signal,
      problem: error instanceof Error ? printable(error.message.split('\n')[0] ?? '') : null,
    };
    await writeAttempt(plan.folder, ended(attempt, io, how)).catch(() => {});
    throw error;
  }
}

async function measureOnce(plan: RunPlan, ofShard: Plan, attempt: ShardAttempt, io: Io): Promise<void> {
  const { folder } = plan;
  const name = `shard ${attempt.shard}`;
  if (existsSync(folder.shard(attempt.shard))) {
    io.err(`${name}: another attempt has already finished it\n`);
    return writeAttempt(folder, ended(attempt, io, { outcome: 'late' }));
  }
  if (attempt.restart >= MAX_RESTARTS) {
    throw new EnvironmentLackingError(`${name}: given up, it was restarted ${attempt.restart} times`);
  }
  await writeAttempt(folder, attempt).catch((error: unknown) => {
    throw new EnvironmentLackingError(
      `${printable(folder.path)} cannot be written to (${errorText(error)}): is it on a file system that this node can write to?`,
    );
  });
  await measure(plan, ofShard, attempt, io);
  const isFirst = await finishShard(plan.folder, ended(attempt, io, {}));
  if (!isFirst) io.err(`${name}: another attempt finished first: bench uses its results\n`);
}

/** Measures a shard as an ordinary sweep, with its own store and artefacts. */
async function measure(plan: RunPlan, ofShard: Plan, attempt: ShardAttempt, io: Io): Promise<void> {
  const { folder, settings, sweep } = plan;
  const program = await programOfNode(plan.stored, attempt.node, io);
  const machines = await machinesFor(program, null, io);
  const stored = { ...plan.stored, plan: ofShard };
  const converter = await converterFor(stored.plan, stored.program.python, io);
  const measureIn = async (local: string, locked: typeof machines): Promise<void> => {
    const cache = nodeCache(settings.cacheFolder ?? null, local);
    const progress = new LiveProgress(stored.plan, program, io);
    const onEvent: SweepContext['onEvent'] = (event) => progress.take(event);
    // SQLite over a network file system is unsafe. The store is local and temporary, and its run folders are the
    // result.
    const store = openStore(join(local, STORE_NAME), migrationsFolder());
    try {
      const engines = new EngineCache(join(cache, 'engines'));
      const prepared = { sweep, stored, program, converter: null, machines: locked };
      const [context] = await openWorkers(store, prepared, engines, io, onEvent);
      const own = {
        artefactsFolder: join(folder.attempt(attempt), 'artefacts'),
        variants: converter === null ? null : variantsForStore(join(cache, 'store'), converter, io, onEvent),
      };
      await runSweep([{ ...context, ...own }], stored);
    } finally {
      progress.end();
      store.close();
    }
  };
  await inTemporaryFolder('worker', (local) =>
    withLockedClocks(stored.lockClocks, machines, program, io, ([machine]) => measureIn(local, [machine])),
  );
}

function ended(attempt: ShardAttempt, io: Io, how: Partial<ShardAttempt>): ShardAttempt {
  return { ...attempt, exitCode: EXIT_CODES.fine, endedAt: io.now().toISOString(), ...how };
}

/** Shard and attempt of this process, from Slurm's environment variables; null outside a job array. */
function taskIdentity(env: EnvironmentVariables) {
  const number = (name: string): string | undefined => /^\d+$/.exec(env[name] ?? '')?.[0];
  const [jobId, array, index] = ['SLURM_JOB_ID', 'SLURM_ARRAY_JOB_ID', 'SLURM_ARRAY_TASK_ID'].map(number);
  if (jobId === undefined || index === undefined) return null;
  const task = array === undefined ? null : `${array}_${index}`;
  // Slurm does not set the count for the first attempt.
  const restart = Number(number('SLURM_RESTART_COUNT') ?? 0);
  return { arrayIndex: Number(index), attempt: { jobId, restart, task, node: env['SLURMD_NODENAME'] || hostname() } };
}

/**
 * Renames the folder of the attempt to that of the shard, atomically.
 * @returns false when another attempt finished first
 */
export async function finishShard(folder: RunFolder, attempt: ShardAttempt): Promise<boolean> {
  const work = folder.attempt(attempt);
  await writeAttempt(folder, { ...attempt, outcome: 'done' });
  try {
    await rename(work, folder.shard(attempt.shard));
    return true;
  } catch (error) {
    if (!existsSync(folder.shard(attempt.shard))) throw error;
    await rm(join(work, 'artefacts'), { recursive: true, force: true });
    await writeAttempt(folder, { ...attempt, outcome: 'late' });
    return false;
  }
}

/** The trtexec of this node, whose version must be the planned one. */
async function programOfNode({ plan, program: planned }: StoredPlan, node: string, io: Io): Promise<TrtexecProgram> {
  const { replayFolder, trtexec } = planned;
  if (plan.tensorrt === NO_TENSORRT) return noTrtexec(io);
  // Each node searches for a bare name.
  const named = trtexec?.includes('/') === true ? { trtexec } : {};
  const options = replayFolder === null ? named : { replay: replayFolder };
  const { program } = chooseProgram(options, { replay: null, trtexec: null }, io);
  if (replayFolder !== null) return program;
  const { version } = await probeTrtexec(program, io.signal);
  const here = new Dialect(version).name;
  if (here !== plan.tensorrt) {
    throw new EnvironmentLackingError(
      `${printable(program.shownAs)} on ${node} is TensorRT ${formatTensorrtVersion(version)}, the plan is for ${plan.tensorrt}: plan with --tensorrt ${here}`,
    );
  }
  return program;
}

/**
 * A folder on the disk of the node for engines and variants, which outlives the job. Locks over network file systems
 * are unsafe. If another user created the folder in a shared place, a private one is used.
 * @param stated `cacheFolder` of the settings
 * @param otherwise a private folder that ends with the job
 */
function nodeCache(stated: string | null, otherwise: string): string {
  if (stated !== null) {
    mkdirSync(stated, { recursive: true });
    return stated;
  }
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `trtbench-cache-${uid}`);
  // The folder may already exist, also as one of another user.
  const facts = orNull(() => {
    mkdirSync(folder, { mode: 0o700, recursive: true });
    return lstatSync(folder);
  });
  const isOwn = facts?.isDirectory() === true && facts.uid === uid && (facts.mode & 0o022) === 0;
  return isOwn ? folder : otherwise;
}
