import { join } from 'node:path';

import * as z from 'zod';

import { readJson } from '../artefacts/folders.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import { definedVariables, type EnvironmentVariables } from '../process/environment-variables.ts';
import { PLACEHOLDERS, type PlannedHarness, type PlannedLimits } from '../records/plan.ts';
import type { SweepContext } from './sweep-context.ts';
import type { RunId } from '../records/scalars.ts';

export interface Attempt {
  readonly runId: RunId;
  readonly label: string;
  readonly args: readonly string[];
  /** The program if it is not trtexec; its arguments are `args`. */
  readonly harness: PlannedHarness | null;
  /** Axis variables; null unsets one. */
  readonly env: Readonly<Record<string, string | null>>;
  /** For the whole process, if `limits` do not set it. */
  readonly timeoutS: number;
  readonly limits: PlannedLimits;
  /** Counts from 0; recordings of the same cell are used in turn. */
  readonly index: number;
  readonly manifest: Partial<RunManifest>;
  readonly inspect?: () => Promise<Partial<RunManifest>>;
}

export interface Start {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  /** For the store, with the program's public name. */
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

/** The variables of an axis, which are no secrets: they are stored with the run. */
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

/** What a replay adds to `run.json`: the recording, and exports that it never had. Empty for a real trtexec. */
export function readReplayReport(folder: string): Partial<RunManifest> {
  const report = readJson(join(folder, REPLAY_REPORT), replaySchema);
  if (report === null) return {};
  const { set, id, omitted } = report;
  return { recording: set === null || id === null ? null : { set, id }, omitted };
}
