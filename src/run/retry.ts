import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { tryOf } from '../artefacts/read/identify.ts';
import { readRunFolder } from '../artefacts/read/read-run.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import { InterruptedError } from '../errors.ts';
import type { Outcome } from '../records/outcome.ts';
import { passingFailure, waitBeforeS } from '../trtexec/failures.ts';
import type { RunTry } from '../records/run.ts';
import { askForProcesses, parseComputeApps } from '../tools/nvidia-smi/nvidia-smi.ts';
import { recordTry } from '../store/runs/runs.ts';
import type { Attempt } from './start.ts';
import type { SweepContext } from './sweep-context.ts';

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

/** Keeps the logs of a start next to those of the next one, and waits. @throws InterruptedError on Ctrl-C */
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

/** True if another process uses GPU memory now. Not checked without nvidia-smi or a known GPU. */
async function othersOnGpu({ environment, program }: SweepContext, { watched }: RunManifest): Promise<boolean> {
  if (watched !== null && watched.otherProcesses.length > 0) return true;
  const { gpuUuid } = environment;
  if (program.recordings !== null || gpuUuid === null || gpuUuid === undefined) return false;
  const answer = await askForProcesses(gpuUuid, program.env);
  return answer.kind === 'answered' && parseComputeApps(answer.text).length > 0;
}
