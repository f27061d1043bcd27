import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { toRunRecord } from '../artefacts/identify.ts';
import { compressFolder, manifestText } from '../artefacts/keep.ts';
import { ATTEMPT_PREFIX, RUN_MANIFEST, runFolderOf } from '../artefacts/layout.ts';
import { readRunFolder } from '../artefacts/read-run.ts';
import { emptyManifest, type RunManifest } from '../artefacts/run-manifest.ts';
import { writeAtomically } from '../artefacts/files.ts';
import { EnvironmentLackingError, InterruptedError } from '../domain/errors.ts';
import { printable } from '../domain/printable.ts';
import type { RunRecord } from '../domain/run-record.ts';
import { TELEMETRY_FILE } from '../domain/telemetry-file.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { storedVariables } from '../run/environment-variables.ts';
import { identityOf } from '../run/process-identity.ts';
import { recordAttempt } from '../store/attempts.ts';
import { adoptBuilt } from './built-engine.ts';
import { readReplayReport, REPLAY_REPORT } from './replay-report.ts';
import type { SweepContext } from './sweep-context.ts';

/** Who is at work in a folder: lets a later bench end what an earlier one left running. */
export const ATTEMPT_FILE = 'attempt.json';

/** One process that is to be run, and what its `run.json` will say besides what happened. */
export interface Attempt {
  readonly runId: string;
  readonly args: readonly string[];
  readonly timeoutS: number;
  /** Counts from 0; recordings of the same cell are answered in turn. */
  readonly index: number;
  readonly manifest: Partial<RunManifest>;
  /** Looks at what the process left, before it is judged. */
  readonly inspect?: () => Promise<Partial<RunManifest>>;
}

/**
 * Runs one process in a folder of its own and stores what it left. The folder gets its name only when the process has
 * ended and everything is written: a kill at any moment leaves a finished run or none.
 */
export async function attemptRun(context: SweepContext, attempt: Attempt): Promise<RunRecord> {
  const { library, program, signal, sweep } = context;
  const watch = attempt.manifest.role === 'build' ? null : context.watch;
  const folder = attemptFolder(context, attempt.runId);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  recordAttempt(context.db, sweep.sweepId, attempt.runId, context.now().toISOString());
  await watch?.begin();
  const [file = program.file, ...args] = [
    ...(program.wrapper ?? []),
    program.file,
    ...program.prefixArgs,
    ...attempt.args,
  ];
  const result = await context.spawn(
    {
      file,
      args,
      isTimed: attempt.manifest.role === 'timed',
      cwd: folder,
      env: { ...program.env, ...replayVariables(context, attempt, folder) },
      stdoutPath: join(folder, 'stdout.log'),
      stderrPath: join(folder, 'stderr.log'),
      timeoutMs: attempt.timeoutS * 1000,
    },
    signal,
    (pid) => {
      writeFileSync(join(folder, ATTEMPT_FILE), JSON.stringify(identityOf(pid)));
      library?.watch(pid);
    },
  );
  library?.stop();
  if (result.cancelled || signal.aborted) {
    // What Ctrl-C cut off is no result: `--resume` measures it from the start.
    await rm(folder, { recursive: true, force: true });
    throw new InterruptedError('interrupted');
  }
  if (result.startProblem !== null) {
    await rm(folder, { recursive: true, force: true });
    throw new EnvironmentLackingError(`${printable(program.shownAs)}: ${result.startProblem}`);
  }
  const ended = new Date(result.startedAt.getTime() + result.wallS * 1000);
  const watched = await watch?.end(result.startedAt, ended, join(folder, TELEMETRY_FILE));
  const tensorrtLibrary = library?.version ?? null;
  const manifest: RunManifest = {
    ...emptyManifest(),
    sweepId: sweep.sweepId,
    runId: attempt.runId,
    argv: [...(program.wrapper ?? []), program.shownAs, ...attempt.args],
    env: program.recordings === null ? storedVariables(program.env) : {},
    environment: {
      ...context.environment,
      ...(tensorrtLibrary === null ? {} : { tensorrtLibrary }),
    },
    watched: watched ?? null,
    provenance: program.provenance,
    exitCode: result.exitCode,
    signal: result.signal,
    timedOut: result.timedOut,
    startedAt: result.startedAt.toISOString(),
    wallS: Number(result.wallS.toFixed(3)),
    ...attempt.manifest,
    ...(await attempt.inspect?.()),
    ...(await readReplayReport(folder)),
  };
  await writeAtomically(join(folder, RUN_MANIFEST), manifestText(manifest));
  return finishRun(context, folder, attempt.runId);
}

/** Takes the folder of an ended process to its place and into the store. Can be done again after a kill in between. */
export async function finishRun(
  context: SweepContext,
  folder: string,
  runId: string,
): Promise<RunRecord> {
  const { artefactsFolder, sweep, writer } = context;
  await rm(join(folder, ATTEMPT_FILE), { force: true });
  await rm(join(folder, REPLAY_REPORT), { force: true });
  const [read] = await readRunFolder(folder);
  if (read === undefined) throw new Error(`${folder}: no run in it`);
  // Before the build counts as done: else a kill would leave a build in the store and no engine.
  await adoptBuilt(context.cache, read);
  await compressFolder(folder);
  const target = runFolderOf(artefactsFolder, sweep.sweepId, runId);
  await rm(target, { recursive: true, force: true });
  await rename(folder, target);
  const record = toRunRecord(read, {
    runId,
    sweepId: sweep.sweepId,
    repeat: read.manifest.repeat ?? 1,
    artefactFolder: `${sweep.sweepId}/${runId}`,
  });
  writer.saveRun(record);
  return record;
}

export function attemptFolder({ artefactsFolder, sweep }: SweepContext, runId: string): string {
  return join(artefactsFolder, sweep.sweepId, ATTEMPT_PREFIX + runId);
}

/** True when the process of this folder has ended and was written down. */
export function hasEnded(folder: string): boolean {
  const path = join(folder, RUN_MANIFEST);
  if (!existsSync(path)) return false;
  try {
    return isRecord(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return false;
  }
}

function replayVariables(
  { program }: SweepContext,
  { index }: Attempt,
  folder: string,
): Record<string, string> {
  if (program.recordings === null) return {};
  return {
    BENCH_REPLAY_SET: program.recordings.folder,
    BENCH_REPLAY_INDEX: String(index),
    BENCH_REPLAY_REPORT: join(folder, REPLAY_REPORT),
  };
}
