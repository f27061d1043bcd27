import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { noTrtexec } from '../../cli/program.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { ensure, EnvironmentLackingError, UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import type { Sweep } from '../../records/sweep.ts';
import { leftOutOf, plannedSweep, gitStateOf, storedPlanOf } from '../../run/planned-sweep.ts';
import { type OpenStore, openStore } from '../../store/file/open.ts';
import { printable } from '../../text/printable.ts';
import { isPassing, lastWords, slurmClient } from '../../tools/slurm/slurm-client.ts';
import { NO_ANSWER, type ShardStatus, isOver, isSettling } from '../../tools/slurm/states.ts';
import { type Prepared, prepare } from '../plan/index.ts';
import type { Executor } from '../run/index.ts';
import { collect, saveNewSweep } from './collect.ts';
import type { ResumeOptions } from './command.ts';
import { createRun, readJobs, readRun, type RunFolder, runFolder, type RunPlan, shardStates } from './run-folder.ts';
import { settingsOf, submitCollector, submitShards } from './submit.ts';
import { type CancelOutput, type SubmitOutput, cancelText, submitText } from './text.ts';
import { shardPlan } from '../../matrix/plan/shards.ts';

export type SlurmRunOptions = Parameters<Executor['submit']>[1];

const DEFAULT_SHARD_MINUTES = 15;

/** Plans a sweep, splits the plan into shards, submits them, and returns or follows them. */
export async function runOnSlurm(path: string, options: SlurmRunOptions, io: Io): Promise<ExitCode> {
  // Check this first, because nothing works without Slurm.
  await slurmClient(io).run('sbatch', ['--version']);
  const made = await prepareForNodes(path, options, io);
  if (made.matrix.drivers.length > 0) {
    throw new UsageError('--executor slurm does not copy plug-in drivers to the nodes: use `kind: command` there');
  }
  for (const note of made.plan.notes) io.err(`note: ${printable(note)}\n`);
  const settings = settingsOf(made.matrix.slurm, options, io);
  const shardS = (settings.shardMinutes ?? DEFAULT_SHARD_MINUTES) * 60;
  const { python, trtexec } = options;
  // Each node searches for a bare name.
  const file = trtexec === undefined ? (made.matrix.trtexec ?? 'trtexec') : resolve(io.cwd, trtexec);
  const program = made.program ?? { ...noTrtexec(io), file };
  const { plan, shards } = shardPlan(made.plan, shardS, program.recordings === null);
  // Each run has its own host.
  const sweep = plannedSweep(plan, program, {
    ...(await gitStateOf(options, io)),
    sweepId: randomBytes(16).toString('hex'),
    startedAt: io.now().toISOString(),
    host: null,
  });
  const converter =
    python === undefined ? null : { interpreter: python.includes('/') ? resolve(io.cwd, python) : python };
  const store = openStore(storePath(options.db, io), migrationsFolder());
  let folder: RunFolder;
  try {
    folder = runFolderFor(options.runDir, store, sweep, io);
    // Files and GPUs are unknown, because nodes have their own files and Slurm chooses the GPUs.
    const stored = storedPlanOf(plan, program, converter, {
      telemetry: options.telemetry !== false,
      lockClocks: program.recordings === null ? (options.lockClocks ?? made.matrix.lockClocks) : null,
      slurmRun: folder.path,
      gate: made.matrix.gate,
      leftOut: leftOutOf(made.matrix, plan),
      keptLastGoodBytes: made.matrix.keptLastGoodBytes,
      controlFlow: made.controlFlow,
      coolDown: options.coolDown ?? made.matrix.coolDown,
      numa: options.numa ?? made.matrix.numa,
    });
    await createRun(folder, { sweep, stored, shards, settings, storePath: store.path });
    const runPlan = await readRun(folder.path);
    const all = shards.map(({ index }) => index);
    const submission = await submitShards(runPlan, settings, all, io).catch(async (error: unknown) => {
      // At this point nothing was submitted.
      await rm(folder.path, { recursive: true, force: true });
      throw error;
    });
    await saveNewSweep(runPlan, store);
    const { jobs } = submission;
    const collector = options.collectJob === true ? await submitCollector(runPlan, jobs, io) : null;
    const report = { ...submission, collector };
    if (options.wait !== true) return printSubmission(report, options, io);
    io.err(`${submitText(report)[0] ?? ''}\n`);
  } finally {
    store.close();
  }
  return collect(folder.path, { ...options, db: store.path }, io);
}

/** A login node usually has neither trtexec nor a GPU. The user states the version, and each node finds the program. */
async function prepareForNodes(path: string, options: SlurmRunOptions, io: Io): Promise<Prepared> {
  if (options.tensorrt !== undefined && options.replay !== undefined) {
    throw new UsageError('--tensorrt and --replay cannot be used together');
  }
  try {
    return await prepare(path, options, 'models needed', io);
  } catch (error) {
    if (!(error instanceof EnvironmentLackingError) || options.tensorrt !== undefined) throw error;
    throw new EnvironmentLackingError(
      `${error.message}; if only the nodes have trtexec, state its version: --tensorrt 10.6 (and --trtexec PATH, as the nodes see it)`,
      { cause: error },
    );
  }
}

/** @throws UsageError when the folder is not empty, or cannot be passed to Slurm */
function runFolderFor(stated: string | undefined, store: OpenStore, { sweepId }: Sweep, io: Io): RunFolder {
  const path =
    stated === undefined ? join(dirname(store.path), 'bench-slurm', sweepId.slice(0, 8)) : resolve(io.cwd, stated);
  // With a backslash, sbatch takes the name of the log literally, so that all tasks would write to one file.
  // oxlint-disable-next-line no-control-regex -- these end lines and strings
  const isUsable = !/[\u0000-\u001f\u007f\\]/.test(path);
  const rule = 'Slurm takes no path with a line break, a control character or a backslash; name another --run-dir';
  ensure(isUsable, `${printable(path)}: ${rule}`);
  ensure(
    !existsSync(path) || readdirSync(path).length === 0,
    `${printable(path)} is not empty: name another --run-dir, or continue a run there with \`bench slurm resume\``,
  );
  return runFolder(path);
}

/** The states of all shards. @throws EnvironmentLackingError when Slurm does not answer */
async function knownStatuses(
  plan: RunPlan,
  options: { readonly lostAfter: number },
  done: string,
  io: Io,
): Promise<ShardStatus[]> {
  const statuses = await shardStates(plan, options, io)();
  if (statuses.every(({ reason }) => reason !== NO_ANSWER)) return statuses;
  throw new EnvironmentLackingError(
    `Slurm does not answer; nothing was ${done}; try again when \`scontrol ping\` says UP`,
  );
}

/** Resubmits shards that are neither finished nor running. */
export async function resumeRun(path: string, options: ResumeOptions, io: Io): Promise<ExitCode> {
  const plan = await readRun(resolve(io.cwd, path));
  const settings = settingsOf(plan.settings, options, io);
  const statuses = await knownStatuses(plan, options, 'submitted', io);
  const again = statuses
    .filter((status) => status.state === 'planned' || (isOver(status) && status.state !== 'done'))
    .map(({ shard }) => shard);
  const isWaiting = options.wait === true;
  if (again.length === 0) {
    io.err('nothing to resume: every shard is done, or may still run (--lost-after)\n');
    return isWaiting ? collect(path, options, io) : EXIT_CODES.fine;
  }
  const submission = await submitShards(plan, settings, again, io);
  return isWaiting ? collect(path, options, io) : printSubmission(submission, options, io);
}

function printSubmission(report: SubmitOutput, options: { readonly json?: true }, io: Io): ExitCode {
  printResult(io, options, report, submitText);
  return report.left.length === 0 ? EXIT_CODES.fine : EXIT_CODES.incomplete;
}

/** Cancels queued and running tasks. Finished shards stay. */
export async function cancel(path: string, options: { readonly json?: true }, io: Io): Promise<ExitCode> {
  const plan = await readRun(resolve(io.cwd, path));
  const { folder, sweep } = plan;
  const statuses = await knownStatuses(plan, { lostAfter: 0 }, 'cancelled', io);
  const living = statuses.filter((status) => !isOver(status) && status.state !== 'planned' && !isSettling(status));
  const shards = living.map(({ shard }) => shard);
  const jobs = readJobs(folder)
    .filter((entry) => entry.kind === 'collector' || entry.shards.some((shard) => shards.includes(shard)))
    .map(({ jobId, cluster }) => ({ jobId, cluster }));
  const client = slurmClient(io);
  for (const [cluster, members] of Map.groupBy(jobs, (job) => job.cluster)) {
    const ids = members.map(({ jobId }) => jobId);
    const { stderr } = await client.cancel(ids, cluster);
    if (isPassing(stderr)) throw new EnvironmentLackingError(`Slurm does not answer: ${lastWords(stderr)}; try again`);
  }
  const ended = shards.length === 0 ? [] : jobs;
  const output: CancelOutput = {
    schemaVersion: 1,
    sweepId: sweep.sweepId,
    runFolder: folder.path,
    jobs: ended,
    shards,
  };
  return printResult(io, options, output, cancelText);
}
