import { join } from 'node:path';

import { PLACEHOLDERS } from '../records/plan.ts';
import { definedVariables, type EnvironmentVariables } from '../process/environment-variables.ts';
import type { Attempt } from './planned-attempt.ts';
import { REPLAY_REPORT } from './replay-report.ts';
import type { SweepContext } from './sweep-context.ts';

/** How a process is started. */
export interface Start {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  /** As it is stored: with the name by which people know the program. */
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

/** An undefined value takes a variable away. */
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
