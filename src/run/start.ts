import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import * as z from 'zod';

import { readJson } from '../files/folders.ts';
import { tryOf } from '../artefacts/read/identify.ts';
import { readRunFolder } from '../artefacts/read/read-run.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import { InterruptedError } from '../errors.ts';
import { definedVariables, type EnvironmentVariables } from '../process/environment-variables.ts';
import type { ProcessResult, Spawn } from '../process/spawn.ts';
import type { Outcome } from '../records/outcome.ts';
import { PLACEHOLDERS, type PlannedHarness, type PlannedLimits } from '../records/plan.ts';
import type { RunTry } from '../records/run.ts';
import type { RunId } from '../records/scalars.ts';
import { timeLimitText } from '../records/time-limit.ts';
import type { SweepContext } from './sweep-context.ts';
import { recordTry } from '../store/runs/runs.ts';
import { askForProcesses, parseComputeApps } from '../tools/nvidia-smi/nvidia-smi.ts';
import { passingFailure, waitBeforeS } from '../trtexec/failures.ts';
import { PhaseWatch } from '../trtexec/log/phase-watch.ts';

export interface Attempt {
  readonly runId: RunId;
  readonly label: string;
  readonly args: readonly string[];
  /** The program if it is not trtexec; `args` are its arguments. */
  readonly harness: PlannedHarness | null;
  /** Arguments of the neighbor process. */
  readonly neighborArgs?: readonly string[];
  /** Variables on axes; null unsets one. */
  readonly env: Readonly<Record<string, string | null>>;
  /** Limit for the whole process if `limits` do not set one. */
  readonly timeoutS: number;
  readonly limits: PlannedLimits;
  /** Number of the run from 0; recordings of a cell are used in turn. */
  readonly index: number;
  readonly manifest: Partial<RunManifest>;
  readonly inspect?: () => Promise<Partial<RunManifest>>;
}

export interface Start {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  /** The command line for the store, with the public name of the program. */
  readonly argv: readonly string[];
}

export function startOf(context: SweepContext, attempt: Attempt, folder: string): Start {
  const { program } = context;
  const wrapper = program.wrapper ?? [];
  if (attempt.harness !== null) return harnessStart(wrapper, program.env, attempt, folder);
  const [file = program.file, ...args] = [...wrapper, program.file, ...program.prefixArgs, ...attempt.args];
  return {
    file,
    args,
    cwd: folder,
    env: { ...program.env, ...overlay(attempt.env), ...replayVariables(context, attempt, folder) },
    argv: [...wrapper, program.shownAs, ...attempt.args],
  };
}

function harnessStart(
  wrapper: readonly string[],
  inherited: EnvironmentVariables,
  { harness, env }: Attempt,
  folder: string,
): Start {
  const argv = (harness?.argv ?? []).map((text) => text.replaceAll(PLACEHOLDERS.runFolder, () => folder));
  const [file = '', ...args] = [...wrapper, ...argv];
  return {
    file,
    args,
    cwd: harness?.cwd ?? folder,
    env: { ...inherited, ...overlay(harness?.env ?? {}), ...overlay(env), BENCH_RUN_FOLDER: folder },
    argv: [...wrapper, ...(harness?.argv ?? [])],
  };
}

/** An undefined value removes a variable. */
export function overlay(env: Attempt['env']): EnvironmentVariables {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? undefined]));
}

/** Variables on axes, which are not secret and are stored with the run. */
export function axisVariables({ env }: Attempt): Record<string, string> {
  return definedVariables(overlay(env));
}

function replayVariables({ program }: SweepContext, { index }: Attempt, folder: string): Record<string, string> {
  if (program.recordings === null) return {};
  return {
    BENCH_REPLAY_SET: program.recordings.folder,
    BENCH_REPLAY_INDEX: String(index),
    BENCH_REPLAY_REPORT: join(folder, REPLAY_REPORT),
  };
}

export const REPLAY_REPORT = 'replay.json';

const replaySchema = z.object({
  set: z.string().nullable().catch(null),
  id: z.string().nullable().catch(null),
  omitted: z.array(z.string()).catch([]),
});

/** The additions of a replay to `run.json`: the recording, and exports that it never had. Empty for a real trtexec. */
export function readReplayReport(folder: string): Partial<RunManifest> {
  const report = readJson(join(folder, REPLAY_REPORT), replaySchema);
  if (report === null) return {};
  const { set, id, omitted } = report;
  return { recording: set === null || id === null ? null : { set, id }, omitted };
}

/**
 * Starts a process with its neighbor, if it has one. The neighbor starts first, runs inference before the process
 * starts, and ends after it in any case. Both hold the lock of the GPU.
 */
export function spawnWithNeighbor(spawn: Spawn): Spawn {
  return async ({ neighbor, ...measured }, signal, onStart) => {
    if (neighbor === undefined) return spawn(measured, signal, onStart);
    const { limits, ...own } = neighbor;
    const phases = new PhaseWatch({ ...limits, timedPartS: null, endS: null }, null);
    const inference = Promise.withResolvers<void>();
    const end = new AbortController();
    let ended: ProcessResult | null = null;
    const reader = {
      passed: (elapsedS: number) => phases.passed(elapsedS),
      read: (...output: Parameters<PhaseWatch['read']>): void => {
        phases.read(...output);
        if (phases.isInferring) inference.resolve();
      },
    };
    const running = spawn({ ...measured, ...own, reader }, AbortSignal.any([signal, end.signal]), () => {}).then(
      (result) => (ended = result),
    );
    try {
      await Promise.race([inference.promise, running]);
      const result = await spawn(measured, signal, onStart);
      return { ...result, neighborEnded: ended === null ? null : howEnded(ended, own.stderrPath) };
    } finally {
      end.abort();
      await running;
    }
  };
}

function howEnded({ exitCode, limit, signal, startProblem }: ProcessResult, stderrPath: string): string {
  const code = exitCode === null ? `ended by ${signal ?? 'an unknown signal'}` : `exit code ${exitCode}`;
  const how = startProblem ?? (limit === null ? code : timeLimitText(limit));
  const last = readFileSync(stderrPath, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  return `its neighbor ended before it did: ${how}${last === '' ? '' : `; ${last}`}`;
}

export interface PassedFailure {
  readonly ended: RunTry;
  readonly what: string;
  /** Number of the retry, from 1. */
  readonly retry: number;
  /** Null after the last retry. */
  readonly waitS: number | null;
}

export async function outcomeIn(
  folder: string,
): Promise<{ readonly outcome: Outcome; readonly lines: readonly string[] }> {
  const [read] = await readRunFolder(folder);
  if (read === undefined) throw new Error(`${folder}: no run in it`);
  const { errors, failures } = read.log;
  return { outcome: read.outcome, lines: [...failures, ...errors].map(({ text }) => text) };
}

export async function passedFailureOf(
  context: SweepContext,
  manifest: RunManifest,
  lastOutcome: Awaited<ReturnType<typeof outcomeIn>>,
): Promise<PassedFailure | null> {
  const { exitCode, signal, timedOut, attempt, startedAt, wallS } = manifest;
  if (timedOut || (exitCode === 0 && signal === null)) return null;
  const sharesGpu =
    lastOutcome.outcome.kind === 'failed' && lastOutcome.outcome.reason === 'outOfMemory'
      ? await othersOnGpu(context, manifest)
      : false;
  const passing = passingFailure(lastOutcome.outcome, lastOutcome.lines, sharesGpu);
  if (passing === null || attempt === null || startedAt === null) return null;
  const retry = manifest.tries.length + 1;
  const endedAt = new Date(Date.parse(startedAt) + (wallS ?? 0) * 1000).toISOString();
  return {
    ended: tryOf(lastOutcome.outcome, attempt, startedAt, endedAt),
    what: passing.what,
    retry,
    waitS: waitBeforeS(context.plan.retries, retry, passing.isOverAtOnce),
  };
}

/** Keeps the logs of a failed start next to those of the next one, and waits. @throws InterruptedError on Ctrl-C */
export async function waitForNextTry(
  { db, onEvent, plan, signal, sweep }: SweepContext,
  { label, runId }: Attempt,
  folder: string,
  { ended, retry, what }: PassedFailure,
  waitS: number,
): Promise<void> {
  recordTry(db, sweep.sweepId, runId, ended);
  for (const name of ['stdout.log', 'stderr.log']) {
    await rename(join(folder, name), join(folder, `attempt-${ended.attempt}.${name}`));
  }
  const reason = ended.reason === null ? '' : ` (${ended.reason})`;
  const when = waitS === 0 ? 'at once' : `in ${waitS} s`;
  onEvent({
    kind: 'note',
    text: `${label}: ${what}${reason}; tried again ${when} (retry ${retry} of ${plan.retries.times})`,
  });
  try {
    await pause(waitS * 1000, undefined, { signal });
  } catch {
    throw new InterruptedError('interrupted');
  }
}

/** True if another process uses memory of the GPU now. Not checked without nvidia-smi or a known GPU. */
async function othersOnGpu({ environment, program }: SweepContext, { watched }: RunManifest): Promise<boolean> {
  if (watched !== null && watched.otherProcesses.length > 0) return true;
  const { gpuUuid } = environment;
  if (program.recordings !== null || gpuUuid === null || gpuUuid === undefined) return false;
  const answer = await askForProcesses(gpuUuid, program.env);
  return answer.kind === 'answered' && parseComputeApps(answer.text).length > 0;
}
