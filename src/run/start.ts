import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { readJson } from '../files/folders.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import type { ProcessResult, Spawn } from '../process/spawn.ts';
import { PLACEHOLDERS, type PlannedHarness, type PlannedLimits } from '../records/plan.ts';
import type { RunId } from '../records/scalars.ts';
import { timeLimitText } from '../records/time-limit.ts';
import type { SweepContext } from './sweep-context.ts';
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

export type Start = ReturnType<typeof startOf>;

export function startOf({ program }: SweepContext, attempt: Attempt, folder: string) {
  const { harness, index } = attempt;
  const { recordings, wrapper = [] } = program;
  const argv = harness?.argv.map((text) => text.replaceAll(PLACEHOLDERS.runFolder, () => folder));
  const [file = '', ...args] = [...wrapper, ...(argv ?? [program.file, ...program.prefixArgs, ...attempt.args])];
  const replay = {
    BENCH_REPLAY_SET: recordings?.folder,
    BENCH_REPLAY_INDEX: String(index),
    BENCH_REPLAY_REPORT: join(folder, REPLAY_REPORT),
  };
  const env: EnvironmentVariables = {
    ...program.env,
    ...overlay(harness?.env ?? {}),
    ...overlay(attempt.env),
    ...(harness === null ? {} : { BENCH_RUN_FOLDER: folder }),
    ...(harness === null && recordings !== null ? replay : {}),
  };
  /** The command line for the store, with the public name of the program. */
  const shown = [...wrapper, ...(harness?.argv ?? [program.shownAs, ...attempt.args])];
  return { file, args, cwd: harness?.cwd ?? folder, env, argv: shown };
}

/** An undefined value removes a variable. */
export function overlay(env: Attempt['env']): EnvironmentVariables {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? undefined]));
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
