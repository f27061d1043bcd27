import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Io } from '../../cli/io.ts';
import { packageFolder } from '../../files/folders.ts';
import { EnvironmentLackingError, UsageError, MatrixError } from '../../errors.ts';
import { type SlurmSettings, slurmSchema } from '../../matrix/schema/slurm-schema.ts';
import type { SettingsOptions } from './command.ts';
import type { SubmitOutput } from './text.ts';
import { chunkShards, JOB_FILE, JOB_SCRIPT, launcher, sbatchArgs, taskArgs } from './sbatch-args.ts';
import { type JobId, lastWords, parseJobId, isPassing, slurmClient } from '../../tools/slurm/slurm-client.ts';
import { recordJob, type RunFolder, type RunPlan } from './run-folder.ts';
import { readSchema, readYaml } from '../../matrix/yaml/yaml-source.ts';

/** Waits between tries, in seconds. Slurm gets five minutes to accept a job. */
const BACK_OFF_S = [2, 5, 10, 20, 40, 60, 60, 60, 43];

/**
 * Submits shards in as many arrays as needed.
 * @throws UsageError when Slurm permanently refuses the first submission
 */
export async function submitShards(
  plan: RunPlan,
  settings: SlurmSettings,
  shards: readonly number[],
  io: Io,
): Promise<SubmitOutput> {
  const { folder, sweep } = plan;
  const allowed = await slurmClient(io).maxArraySize(settings.cluster ?? null);
  const maxTasks = Math.min(settings.tasksPerArray ?? allowed, allowed);
  const name = `bench-${sweep.matrix ?? 'sweep'}-${sweep.sweepId.slice(0, 8)}`;
  const jobs: SubmitOutput['jobs'][number][] = [];
  let problem: string | null = null;
  for (const chunk of chunkShards(shards, maxTasks, settings.maxParallel ?? null)) {
    io.signal.throwIfAborted();
    const afterJob = chunk.parallel === null ? undefined : jobs.at(-1)?.jobId;
    const about = { name, log: '%A_%a', own: taskArgs(settings, chunk, afterJob) };
    const worker = ['slurm', 'worker', '--run', folder.path, '--shard-offset', String(chunk.offset)];
    const command = [...launcher(settings, benchProgram()), ...worker];
    const taken = await submitJob(folder, settings, { ...about, command }, io);
    if ('problem' in taken) {
      if (jobs.length === 0) throw refusalError(taken);
      ({ problem } = taken);
      break;
    }
    const job = { ...taken, shards: chunk.shards };
    recordJob(folder, { kind: 'submitted', at: io.now().toISOString(), offset: chunk.offset, ...job });
    jobs.push(job);
  }
  const sent = new Set(jobs.flatMap((job) => job.shards));
  return {
    schemaVersion: 1,
    sweepId: sweep.sweepId,
    runFolder: folder.path,
    cells: shards.reduce((sum, shard) => sum + (plan.shards[shard]?.cellKeys.length ?? 0), 0),
    shards: plan.shards.length,
    estimateS: Math.max(0, ...plan.shards.map(({ estimateS }) => estimateS)),
    jobs,
    collector: null,
    left: shards.filter((shard) => !sent.has(shard)),
    problem,
  };
}

/**
 * Submits the collector as a dependent job, which needs neither a GPU nor an exclusive node. It compares shards with the
 * plan, because a started shard may not have finished.
 */
export async function submitCollector(plan: RunPlan, jobs: readonly JobId[], io: Io): Promise<JobId> {
  const { folder, settings, storePath, sweep } = plan;
  const about = {
    name: `bench-${sweep.sweepId.slice(0, 8)}-collect`,
    log: 'collect-%j',
    own: [
      // afterok would wait forever if a task fails.
      `--dependency=afterany:${jobs.map(({ jobId }) => jobId).join(':')}`,
      // If memory must be requested, the default may be very small.
      ...(settings.mem === undefined ? [] : ['--mem=1G']),
    ],
    command: [...benchProgram(), 'slurm', 'collect', folder.path, '--db', storePath],
  };
  const taken = await submitJob(folder, settings, about, io);
  if ('problem' in taken) throw refusalError(taken);
  recordJob(folder, { kind: 'collector', at: io.now().toISOString(), ...taken });
  return taken;
}

interface Refusal {
  readonly isFinal: boolean;
  readonly problem: string;
}

/** Each job carries a random word. After a timeout, bench searches for that word before it tries again. */
async function submitJob(
  { path }: RunFolder,
  settings: SlurmSettings,
  { command, own, ...about }: Record<'log' | 'name', string> & Record<'command' | 'own', readonly string[]>,
  io: Io,
): Promise<JobId | Refusal> {
  const client = slurmClient(io);
  const token = `bench-${randomBytes(8).toString('hex')}`;
  const cluster = settings.cluster ?? null;
  // A run of an earlier version has other scripts.
  writeFileSync(join(path, JOB_FILE), JOB_SCRIPT, { mode: 0o755 });
  const argv = sbatchArgs(settings, { ...about, runFolder: path, token, env: io.env }, own, command);
  for (let round = 0; ; round += 1) {
    const reply = await client.run('sbatch', argv);
    const job = reply.kind === 'answered' ? parseJobId(reply.text) : null;
    if (job !== null) return job;
    const problem = lastWords(reply.stderr) || 'sbatch printed no job id';
    const found = await client.jobOfToken(token, cluster);
    if (found !== null) return { jobId: found, cluster };
    const isFinal = reply.kind === 'refused' && !isPassing(reply.stderr);
    const waitS = BACK_OFF_S[round];
    if (isFinal || waitS === undefined) return { isFinal, problem };
    io.err(`note: Slurm did not accept the job (${problem}); next try in ${waitS} s\n`);
    await sleep(waitS * 1000, undefined, { signal: io.signal });
  }
}

function refusalError({ isFinal, problem }: Refusal): Error {
  return isFinal
    ? new UsageError(`Slurm refuses: ${problem}; correct slurm: in the matrix, the profile or --slurm, and start again`)
    : new EnvironmentLackingError(`Slurm accepts no jobs now: ${problem}`);
}

/** Settings of the matrix or plan, then of the profile, then single settings. The last one wins. */
export function settingsOf(below: SlurmSettings, { slurmProfile, slurm = [] }: SettingsOptions, io: Io): SlurmSettings {
  const profile = slurmProfile === undefined ? null : resolve(io.cwd, slurmProfile);
  const text = profile !== null && existsSync(profile) ? readFileSync(profile, 'utf8') : null;
  const stated = slurmProfile === undefined ? {} : readSlurmProfile(slurmProfile, text);
  return Object.assign({}, below, stated, ...slurm.map(readSlurmSetting));
}

/** Names Node by its path, because a compute node may have another PATH. */
function benchProgram(): string[] {
  return [process.execPath, join(packageFolder(), 'bin', 'bench.js')];
}

/**
 * Reads a profile: a file with the settings under `slurm:` of a matrix.
 * @throws MatrixError with every mistake
 */
export function readSlurmProfile(path: string, text: string | null): SlurmSettings {
  const start = { file: path, line: 1, column: 1 };
  if (text === null) {
    throw new MatrixError([{ at: start, problem: 'file not found or not readable' }]);
  }
  return readSchema(readYaml(path, text), slurmSchema);
}

/** Reads `partition=gpu` from the command line; the value is YAML. */
export function readSlurmSetting(text: string): SlurmSettings {
  const [, key = '', value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  if (key === '') {
    const at = { file: '--slurm', line: 1, column: 1 };
    throw new MatrixError([{ at, problem: 'write KEY=VALUE, such as partition=gpu' }]);
  }
  return readSlurmProfile('--slurm', `${key}: ${value}`);
}
