import { writeFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { writeAtomically } from '../files/files.ts';
import { readJson } from '../files/folders.ts';
import { compressFolder, manifestText, scrubFolder, scrubText } from '../artefacts/keep.ts';
import { ATTEMPT_PREFIX, RUN_MANIFEST, runFolderOf, sweepFolderOf } from '../files/layout.ts';
import { toRunRecord } from '../artefacts/read/identify.ts';
import { type ReadRun, readRunFolder } from '../artefacts/read/read-run.ts';
import { TELEMETRY_FILE } from '../artefacts/read/read-telemetry.ts';
import { emptyManifest, type RunManifest } from '../artefacts/run-manifest.ts';
import { linkBuilt } from '../engines/engine-cache.ts';
import { EnvironmentLackingError, InterruptedError } from '../errors.ts';
import { storedVariables, TELEMETRY_VARIABLE } from '../process/environment-variables.ts';
import { identityOf, markOf } from '../process/process-identity.ts';
import type { Invocation, ProcessResult } from '../process/spawn.ts';
import { outcomeReason } from '../records/outcome.ts';
import type { RunRecord, RunTry } from '../records/run.ts';
import { wholeLimitS, withEngineOf } from '../records/time-limit.ts';
import { engineBytesOf, refuseFullDisk, requireRoom, requireStore } from './requirements.ts';
import {
  outcomeIn,
  passedFailureOf,
  waitForNextTry,
  type Attempt,
  axisVariables,
  readReplayReport,
  REPLAY_REPORT,
  type Start,
  startOf,
} from './start.ts';
import type { SweepContext } from './sweep-context.ts';
import { recordAttempt } from '../store/runs/runs.ts';
import { printable } from '../text/printable.ts';
import { PhaseWatch } from '../trtexec/log/phase-watch.ts';
import type { RunId } from '../records/scalars.ts';

/** The process that works in a folder, so that a later bench can end leftover processes. */
export const ATTEMPT_FILE = 'attempt.json';

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
  const { sweep } = context;
  const folder = attemptFolder(context, attempt.runId);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const tries: RunTry[] = [];
  return orRemoved(folder, async () => {
    for (;;) {
      await requireRoom(context, attempt);
      requireStore(context);
      const startedAt = context.now().toISOString();
      const number = recordAttempt(context.db, sweep.sweepId, attempt.runId, startedAt);
      const started = await startOnce(context, attempt, folder);
      refuseFullDisk(context, attempt);
      const manifest = { ...started.manifest, attempt: number, tries: [...tries] };
      if (started.isWell) {
        // Written before the next run starts, so that a kill from here on only interrupts the next run.
        await writeManifest(folder, manifest);
        const store = async (): Promise<RunRecord> => {
          const watched = await started.watched();
          if (watched !== manifest.watched) await writeManifest(folder, { ...manifest, watched });
          return finishRun(context, folder, attempt.runId);
        };
        return { isWell: true, store };
      }
      manifest.watched = await started.watched();
      const lastOutcome = await outcomeIn(folder);
      // If a disk of bench is full, the next run would also fail; otherwise only this run failed.
      if (outcomeReason(lastOutcome.outcome) === 'diskFull') await requireRoom(context, attempt);
      const passed = await passedFailureOf(context, manifest, lastOutcome);
      if (passed === null || passed.waitS === null) {
        await writeManifest(folder, manifest);
        return { isWell: false, store: () => finishRun(context, folder, attempt.runId) };
      }
      tries.push(passed.ended);
      await waitForNextTry(context, attempt, folder, passed, passed.waitS);
    }
  });
}

/**
 * A run that Ctrl-C, a full disk or a missing program cut short is not a result: `--resume` repeats it from the start.
 */
async function orRemoved<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

function writeManifest(folder: string, manifest: RunManifest): Promise<void> {
  return writeAtomically(join(folder, RUN_MANIFEST), manifestText(manifest));
}

/**
 * Starts the process once; stores nothing. `watched` returns the facts of the manifest, with the other processes on the
 * GPU if there are any.
 */
export async function startOnce(context: SweepContext, attempt: Attempt, folder: string) {
  const { library, signal, sweep } = context;
  const limits = withEngineOf(attempt.limits, engineBytesOf(attempt));
  const wholeS = attempt.limits.wholeS ?? wholeLimitS(limits) ?? attempt.timeoutS;
  const { file, args, cwd, env, argv } = startOf(context, attempt, folder);
  await watchOf(context, attempt)?.begin(env[TELEMETRY_VARIABLE] !== 'off');
  const result = await context.spawn(
    {
      file,
      args,
      isTimed: attempt.manifest.role === 'timed' || attempt.manifest.role === 'pair',
      cwd,
      env,
      stdoutPath: join(folder, 'stdout.log'),
      stderrPath: join(folder, 'stderr.log'),
      // The reader enforces the limits, because it knows the phase.
      timeoutMs: 0,
      reader: new PhaseWatch(limits, wholeS),
      mark: markOf(sweep.sweepId, attempt.runId),
      ...neighborOf(context, attempt, folder),
      ...(attempt.harness?.gpus === undefined ? {} : { gpus: attempt.harness.gpus }),
    },
    signal,
    (pid) => {
      writeFileSync(join(folder, ATTEMPT_FILE), JSON.stringify(identityOf(pid)));
      library?.watch(pid);
      watchOf(context, attempt)?.started(pid);
    },
  );
  library?.stop();
  if (result.cancelled || signal.aborted) throw new InterruptedError('interrupted');
  if (result.startProblem !== null) {
    throw new EnvironmentLackingError(`${printable(argv[0] ?? file)}: ${result.startProblem}`);
  }
  const isWell = result.exitCode === 0 && result.signal === null;
  const otherProcesses = watchOf(context, attempt)?.otherProcesses() ?? Promise.resolve([]);
  const manifest = await manifestAfter(context, attempt, folder, { env, argv }, result);
  const watched = async (): Promise<RunManifest['watched']> => {
    const others = await otherProcesses;
    return manifest.watched && others.length > 0 ? { ...manifest.watched, otherProcesses: others } : manifest.watched;
  };
  return { isWell, manifest, watched };
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
  const { library, program, sweep } = context;
  const watch = watchOf(context, attempt);
  const ended = new Date(result.startedAt.getTime() + result.wallS * 1000);
  const [watched] = await Promise.all([
    watch?.end(result.startedAt, ended, join(folder, TELEMETRY_FILE)),
    scrubFolder(folder, env, attempt.harness === null ? isLog : undefined),
  ]);
  const { limit } = result;
  const tensorrtLibrary = library?.version ?? null;
  return {
    ...emptyManifest(),
    sweepId: sweep.sweepId,
    runId: attempt.runId,
    argv: [...argv],
    env: program.recordings === null ? { ...storedVariables(env), ...axisVariables(attempt) } : {},
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

function watchOf({ watch }: SweepContext, { manifest }: Attempt): SweepContext['watch'] {
  return manifest.role === 'build' ? null : watch;
}

/** Exports of trtexec never contain its environment. */
function isLog(name: string): boolean {
  return name.endsWith('stdout.log') || name.endsWith('stderr.log');
}

/** Moves the folder of an ended process to its place and stores the run. Idempotent after a kill in between. */
export async function finishRun(context: SweepContext, folder: string, runId: RunId): Promise<RunRecord> {
  const { artefactsFolder, sweep } = context;
  await rm(join(folder, ATTEMPT_FILE), { force: true });
  await rm(join(folder, REPLAY_REPORT), { force: true });
  const [read] = await readRunFolder(folder);
  if (read === undefined) throw new Error(`${folder}: no run in it`);
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
