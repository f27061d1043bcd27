import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { EnvironmentLackingError, UsageError } from '../../errors.ts';
import type { SlurmSettings } from '../../matrix/schema/slurm-schema.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { SubmitOutput } from './output.ts';
import { recordJob, type SubmittedArray } from './jobs.ts';
import { chunkShards, collectArgs, sbatchArgs } from '../../tools/slurm/sbatch-args.ts';
import { type JobId, lastWords, parseJobId, refusalOf, type SlurmClient } from '../../tools/slurm/slurm-client.ts';
import type { RunFolder, RunPlan } from './run-folder.ts';

/** Waits between tries, in seconds: five minutes in all. */
const BACK_OFF_S = [2, 5, 10, 20, 40, 60, 60, 60, 43];

export interface SubmitContext {
  readonly client: SlurmClient;
  readonly env: EnvironmentVariables;
  /** Node and the program itself. */
  readonly program: readonly string[];
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onNote: (text: string) => void;
  /** How long a refusal that may pass is waited for, in seconds; at most five minutes. */
  readonly patienceS: number;
}

export interface Submission {
  readonly jobs: readonly SubmittedArray[];
  /** Slurm would not take these now. */
  readonly left: readonly number[];
  readonly problem: string | null;
}

/**
 * Submits shards in as many arrays as they need. Each job carries a random word: a submission that timed out may have
 * been accepted, and is searched for by that word before another one.
 * @throws UsageError when Slurm refuses the first of them for good
 */
export async function submitShards(
  folder: RunFolder,
  plan: RunPlan,
  settings: SlurmSettings,
  shards: readonly number[],
  context: SubmitContext,
): Promise<Submission> {
  const cluster = settings.cluster ?? null;
  const allowed = await context.client.maxArraySize(cluster);
  const maxTasks = Math.min(settings.tasksPerArray ?? allowed, allowed);
  const chunks = chunkShards(shards, maxTasks, settings.maxParallel ?? null);
  const jobs: SubmittedArray[] = [];
  for (const chunk of chunks) {
    context.signal.throwIfAborted();
    const token = newToken();
    const argv = sbatchArgs(settings, {
      runFolder: folder.path,
      name: `bench-${plan.sweep.matrix ?? 'sweep'}-${plan.sweep.sweepId.slice(0, 8)}`,
      token,
      chunk,
      afterJob: chunk.after === null ? null : (jobs[chunk.after]?.jobId ?? null),
      program: context.program,
      env: context.env,
    });
    const taken = await submitOne(argv, token, cluster, context);
    if (taken.kind === 'refused') {
      const done = new Set(jobs.flatMap((job) => job.shards));
      const left = shards.filter((shard) => !done.has(shard));
      if (jobs.length > 0) return { jobs, left, problem: taken.problem };
      throw refusalError(taken);
    }
    const entry: SubmittedArray = {
      kind: 'submitted',
      at: context.now().toISOString(),
      ...taken.job,
      offset: chunk.offset,
      shards: [...chunk.shards],
    };
    recordJob(folder, entry);
    jobs.push(entry);
  }
  return { jobs, left: [], problem: null };
}

/** @param submitted the shards that were to be submitted; all of the run where it is not stated */
export function submitOutput(
  { sweep, shards }: RunPlan,
  { path }: RunFolder,
  { jobs, left, problem }: Submission,
  collector: JobId | null,
  submitted: readonly number[] = shards.map(({ index }) => index),
): SubmitOutput {
  return {
    schemaVersion: 1,
    sweepId: sweep.sweepId,
    runFolder: path,
    cells: submitted.reduce((sum, shard) => sum + (shards[shard]?.cellKeys.length ?? 0), 0),
    shards: shards.length,
    estimateS: Math.max(0, ...shards.map(({ estimateS }) => estimateS)),
    jobs: jobs.map(({ jobId, cluster, shards: ofJob }) => ({ jobId, cluster, shards: ofJob })),
    collector,
    left,
    problem,
  };
}

/** Submits the collector as a job after the others. It compares shards with the plan: that it was started proves nothing. */
export async function submitCollector(
  folder: RunFolder,
  plan: RunPlan,
  settings: SlurmSettings,
  jobs: readonly SubmittedArray[],
  command: readonly string[],
  context: SubmitContext,
): Promise<JobId> {
  const token = newToken();
  const argv = collectArgs(settings, {
    runFolder: folder.path,
    name: `bench-${plan.sweep.sweepId.slice(0, 8)}`,
    token,
    after: jobs.map(({ jobId }) => jobId),
    command,
    env: context.env,
  });
  const taken = await submitOne(argv, token, settings.cluster ?? null, context);
  if (taken.kind === 'refused') throw refusalError(taken);
  recordJob(folder, { kind: 'collector', at: context.now().toISOString(), ...taken.job });
  return taken.job;
}

function newToken(): string {
  return `bench-${randomBytes(8).toString('hex')}`;
}

type Taken =
  | { readonly kind: 'taken'; readonly job: JobId }
  | { readonly kind: 'refused'; readonly isFinal: boolean; readonly problem: string };

async function submitOne(
  argv: readonly string[],
  token: string,
  cluster: string | null,
  context: SubmitContext,
): Promise<Taken> {
  const { client, onNote, patienceS, signal } = context;
  let waitedS = 0;
  for (let round = 0; ; round += 1) {
    const reply = await client.ask('sbatch', argv);
    const job = reply.kind === 'answered' ? parseJobId(reply.text) : null;
    if (job !== null) return { kind: 'taken', job };
    const problem = lastWords(reply.stderr) || 'sbatch printed no job id';
    const found = await client.jobOfToken(token, cluster);
    if (found !== null) return { kind: 'taken', job: { jobId: found, cluster } };
    const isFinal = reply.kind === 'refused' && refusalOf(reply.stderr) === 'final';
    const waitS = BACK_OFF_S[round] ?? Number.POSITIVE_INFINITY;
    if (isFinal || waitedS + waitS > patienceS) return { kind: 'refused', isFinal, problem };
    onNote(`Slurm did not take it (${problem}); once more in ${waitS} s`);
    await sleep(waitS * 1000, undefined, { signal });
    waitedS += waitS;
  }
}

function refusalError({ isFinal, problem }: { isFinal: boolean; problem: string }): Error {
  return isFinal
    ? new UsageError(`Slurm refuses: ${problem}; mend slurm: in the matrix, the profile or --slurm, and start again`)
    : new EnvironmentLackingError(`Slurm takes nothing now: ${problem}`);
}
