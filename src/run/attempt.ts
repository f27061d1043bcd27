import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import * as z from 'zod';

import { writeAtomically } from '../files/files.ts';
import { readJson } from '../files/folders.ts';
import { compressFolder, manifestText, scrubFolder, scrubText } from '../artefacts/keep.ts';
import { ATTEMPT_PREFIX, RUN_MANIFEST, runFolderOf, sweepFolderOf } from '../files/layout.ts';
import { toRunRecord, tryOf } from '../artefacts/read/identify.ts';
import { type ReadRun, readRunFolder } from '../artefacts/read/read-run.ts';
import { TELEMETRY_FILE } from '../artefacts/read/read-telemetry.ts';
import { emptyManifest, type RunManifest } from '../artefacts/run-manifest.ts';
import { linkBuilt } from '../engines/engine-cache.ts';
import { EnvironmentLackingError, InterruptedError } from '../errors.ts';
import { definedVariables, storedVariables, TELEMETRY_VARIABLE } from '../process/environment-variables.ts';
import { markOf } from '../process/process-identity.ts';
import type { Invocation, ProcessResult } from '../process/spawn.ts';
import { inTemporaryFolder } from '../process/temporary-folder.ts';
import { outcomeReason } from '../records/outcome.ts';
import type { RunRecord, RunTry } from '../records/run.ts';
import { wholeLimitS, withEngineOf } from '../records/time-limit.ts';
import { engineBytesOf, refuseFullDisk, requireRoom, requireStore } from './requirements.ts';
import { type Attempt, overlay, readReplayReport, REPLAY_REPORT, type Start, startOf } from './start.ts';
import type { SweepContext } from './sweep-context.ts';
import { recordAttempt, recordTry } from '../store/runs/runs.ts';
import { printable } from '../text/printable.ts';
import { askForProcesses, parseComputeApps } from '../tools/nvidia-smi/nvidia-smi.ts';
import { passingFailure, waitBeforeS } from '../trtexec/failures.ts';
import { PhaseWatch } from '../trtexec/log/phase-watch.ts';
import type { RunId } from '../records/scalars.ts';

/** A process that has ended but whose results are not stored yet. After a kill, `--resume` stores them. */
export interface EndedAttempt {
  /** True for exit code 0. */
  readonly isWell: boolean;
  /** Reads and stores the results; call it once. */
  readonly store: () => Promise<RunRecord>;
}

/**
 * Runs one process in its own folder. The folder gets its final name only when the process has ended and everything is
 * written, so that a kill leaves a finished run or none. Transient failures are retried as often as the plan allows.
 * @throws DiskFullError without enough space, before or after the process
 */
export async function startAttempt(context: SweepContext, attempt: Attempt): Promise<EndedAttempt> {
  const { db, now, sweep } = context;
  const { runId } = attempt;
  const folder = attemptFolder(context, runId);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const tries: RunTry[] = [];
  try {
    for (;;) {
      await requireRoom(context, attempt);
      requireStore(context);
      const number = recordAttempt(db, sweep.sweepId, runId, now().toISOString());
      const { isWell, others, ...started } = await startOnce(context, attempt, folder);
      const manifest = { ...started.manifest, attempt: number, tries: [...tries] };
      const whole = async (): Promise<RunManifest> => {
        const [{ watched }, otherProcesses] = [manifest, await others];
        return watched && otherProcesses.length > 0
          ? { ...manifest, watched: { ...watched, otherProcesses } }
          : manifest;
      };
      const passed = isWell ? null : await waitForNextTry(context, attempt, folder, await whole());
      if (passed === null) {
        // Written before the next run starts, so that a kill from here on only interrupts the next run.
        await writeManifest(folder, manifest);
        const store = async (): Promise<RunRecord> => {
          const known = await whole();
          if (known !== manifest) await writeManifest(folder, known);
          return finishRun(context, folder, runId);
        };
        return { isWell, store };
      }
      tries.push(passed);
    }
  } catch (error) {
    // What Ctrl-C, a full disk or a missing program cut short is not a result: `--resume` repeats it from the start.
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * After a failure that can pass: keeps the logs of the failed start next to those of the next one, and waits.
 * @returns the failed start; null if there is no next one
 * @throws InterruptedError on Ctrl-C
 */
async function waitForNextTry(
  context: SweepContext,
  attempt: Attempt,
  folder: string,
  manifest: RunManifest,
): Promise<RunTry | null> {
  const { db, onNote, plan, signal, sweep } = context;
  const { log, outcome } = await readRun(folder);
  const reason = outcomeReason(outcome);
  // If a disk of bench is full, the next run would also fail; otherwise only this run failed.
  if (reason === 'diskFull') await requireRoom(context, attempt);
  const { attempt: number, startedAt, timedOut, tries, wallS } = manifest;
  if (timedOut || number === null || startedAt === null) return null;
  const sharesGpu = reason === 'outOfMemory' && (await othersOnGpu(context, manifest));
  const lines = [...log.failures, ...log.errors].map(({ text }) => text);
  const passing = passingFailure(outcome, lines, sharesGpu);
  const retry = tries.length + 1;
  const waitS = passing === null ? null : waitBeforeS(plan.retries, retry, passing.isOverAtOnce);
  if (passing === null || waitS === null) return null;
  const endedAt = new Date(Date.parse(startedAt) + (wallS ?? 0) * 1000).toISOString();
  const ended = tryOf(outcome, number, startedAt, endedAt);
  recordTry(db, sweep.sweepId, attempt.runId, ended);
  for (const name of ['stdout.log', 'stderr.log']) {
    await rename(join(folder, name), join(folder, `attempt-${number}.${name}`));
  }
  const why = reason === null ? '' : ` (${reason})`;
  const when = waitS === 0 ? 'at once' : `in ${waitS} s`;
  onNote(`${attempt.label}: ${passing.what}${why}; tried again ${when} (retry ${retry} of ${plan.retries.times})`);
  await pause(waitS * 1000, undefined, { signal }).catch(() => {
    throw new InterruptedError('interrupted');
  });
  return ended;
}

/** True if another process uses memory of the GPU now. Not checked without nvidia-smi or a known GPU. */
async function othersOnGpu({ environment, program }: SweepContext, { watched }: RunManifest): Promise<boolean> {
  if (watched !== null && watched.otherProcesses.length > 0) return true;
  const { gpuUuid = null } = environment;
  if (program.recordings !== null || gpuUuid === null) return false;
  const answer = await askForProcesses(gpuUuid, program.env);
  return answer.kind === 'answered' && parseComputeApps(answer.text).length > 0;
}

async function readRun(folder: string): Promise<ReadRun> {
  const [read] = await readRunFolder(folder);
  if (read === undefined) throw new Error(`${folder}: no run in it`);
  return read;
}

function writeManifest(folder: string, manifest: RunManifest): Promise<void> {
  return writeAtomically(join(folder, RUN_MANIFEST), manifestText(manifest));
}

/** Starts the process once; stores nothing. `others` are the other processes on the GPU, known a moment later. */
export async function startOnce(context: SweepContext, attempt: Attempt, folder: string) {
  const { processFacts, signal, sweep } = context;
  const { harness, manifest: planned } = attempt;
  const limits = withEngineOf(attempt.limits, engineBytesOf(attempt));
  const wholeS = attempt.limits.wholeS ?? wholeLimitS(limits) ?? attempt.timeoutS;
  const { argv, ...start } = startOf(context, attempt, folder);
  const watch = planned.role === 'build' ? null : context.watch;
  await watch?.begin(start.env[TELEMETRY_VARIABLE] !== 'off');
  const invocation = {
    ...start,
    isTimed: planned.role === 'timed' || planned.role === 'pair',
    stdoutPath: join(folder, 'stdout.log'),
    stderrPath: join(folder, 'stderr.log'),
    // The reader enforces the limits, because it knows the phase.
    timeoutMs: 0,
    reader: new PhaseWatch(limits, wholeS),
    mark: markOf(sweep.sweepId, attempt.runId),
    ...neighborOf(context, attempt, folder),
    ...(harness?.gpus === undefined ? {} : { gpus: harness.gpus }),
  };
  const inOwn = async (TMPDIR: string): Promise<ProcessResult> => {
    // Frameworks keep caches for their next run in TMPDIR.
    const env = harness === null ? { ...start.env, TMPDIR } : start.env;
    const ended = await context.spawn({ ...invocation, env }, signal, (pid) => processFacts?.watch(pid));
    processFacts?.stop();
    if (!ended.cancelled) refuseFullDisk(context, attempt);
    return ended;
  };
  const result = await inTemporaryFolder('run', inOwn, start.env['TMPDIR'] ?? folder);
  if (result.cancelled || signal.aborted) throw new InterruptedError('interrupted');
  if (result.startProblem !== null) {
    throw new EnvironmentLackingError(`${attempt.label}: ${printable(argv[0] ?? start.file)}: ${result.startProblem}`);
  }
  const others = watch?.otherProcesses() ?? Promise.resolve([]);
  const manifest = await manifestAfter({ ...context, watch }, attempt, folder, { env: start.env, argv }, result);
  return { isWell: result.exitCode === 0 && result.signal === null, manifest, others };
}

/** The neighbor has the program and the variables of the measured process. */
function neighborOf(context: SweepContext, attempt: Attempt, folder: string): Pick<Invocation, 'neighbor'> {
  const { neighborArgs } = attempt;
  if (neighborArgs === undefined) return {};
  const ofNeighbor = { ...attempt, args: neighborArgs };
  const neighbor = {
    args: startOf(context, ofNeighbor, folder).args,
    stdoutPath: join(folder, 'neighbor.stdout.log'),
    stderrPath: join(folder, 'neighbor.stderr.log'),
    mark: markOf(context.sweep.sweepId, `${attempt.runId} neighbor`),
    limits: withEngineOf(attempt.limits, engineBytesOf(ofNeighbor)),
  };
  return { neighbor };
}

async function manifestAfter(
  context: SweepContext,
  attempt: Attempt,
  folder: string,
  { env, argv }: Pick<Start, 'argv' | 'env'>,
  result: ProcessResult,
): Promise<RunManifest> {
  const { processFacts, program, sweep, watch } = context;
  const ended = new Date(result.startedAt.getTime() + result.wallS * 1000);
  const [watched] = await Promise.all([
    watch?.end(result.startedAt, ended, join(folder, TELEMETRY_FILE)),
    // Exports of trtexec never contain its environment.
    scrubFolder(folder, env, attempt.harness === null ? (name) => /std(?:out|err)\.log$/.test(name) : undefined),
  ]);
  const { limit } = result;
  const tensorrtLibrary = processFacts?.libraryVersion ?? null;
  return {
    ...emptyManifest(),
    sweepId: sweep.sweepId,
    runId: attempt.runId,
    argv: [...argv],
    env: program.recordings === null ? { ...storedVariables(env), ...definedVariables(overlay(attempt.env)) } : {},
    environment: { ...context.environment, ...(tensorrtLibrary === null ? {} : { tensorrtLibrary }) },
    watched: watched ?? null,
    provenance: program.provenance,
    exitCode: result.exitCode,
    signal: result.signal,
    timedOut: result.timedOut,
    logTooLong: result.logTooLong,
    // The last line was captured during the run, before scrubbing.
    limit: limit?.lastLine ? { ...limit, lastLine: scrubText(limit.lastLine, env) } : limit,
    neighborEnded: result.neighborEnded ? scrubText(result.neighborEnded, env) : null,
    startedAt: result.startedAt.toISOString(),
    wallS: Number(result.wallS.toFixed(3)),
    ...attempt.manifest,
    ...(await attempt.inspect?.()),
    ...readReplayReport(folder),
  };
}

/** Moves the folder of an ended process to its place and stores the run. Idempotent after a kill in between. */
export async function finishRun(context: SweepContext, folder: string, runId: RunId): Promise<RunRecord> {
  const { artefactsFolder, sweep } = context;
  await rm(join(folder, REPLAY_REPORT), { force: true });
  const read = await readRun(folder);
  // Link before the build is stored: otherwise a kill would leave a stored build without an engine.
  await linkBuilt(context.cache, read);
  await compressFolder(folder);
  const target = runFolderOf(artefactsFolder, sweep.sweepId, runId);
  await rm(target, { recursive: true, force: true });
  await rename(folder, target);
  requireStore(context);
  return saveRead(context, read, runId);
}

/** Stores a run that was read from its folder. */
export function saveRead({ sweep: { sweepId }, writer }: SweepContext, read: ReadRun, runId: RunId): RunRecord {
  const artefactFolder = `${sweepId}/${runId}`;
  const record = toRunRecord(read, { runId, sweepId, repeat: read.manifest.repeat ?? 1, artefactFolder });
  writer.saveRun(record);
  return record;
}

export function attemptFolder({ artefactsFolder, sweep }: SweepContext, runId: RunId): string {
  return join(sweepFolderOf(artefactsFolder, sweep.sweepId), ATTEMPT_PREFIX + runId);
}

export function hasEnded(folder: string): boolean {
  return readJson(join(folder, RUN_MANIFEST), z.looseObject({})) !== null;
}
