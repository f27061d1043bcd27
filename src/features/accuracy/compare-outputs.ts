import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { printable } from '../../text/printable.ts';
import type { InputDistribution } from '../../records/accuracy.ts';
import type { Shapes } from '../../records/cell.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';

/** What `python/compare_outputs.py` reads. */
export interface CompareJob {
  readonly reference: string;
  readonly variant: string;
  /** An npz or npy; null for random values. */
  readonly data: string | null;
  /** Null: all that the file has. */
  readonly samples: number | null;
  readonly seed: number;
  readonly distribution: InputDistribution;
  /** Where the model leaves it open. */
  readonly batch: number;
  readonly shapes: Shapes;
}

/** The means that do not belong to one comparison. */
export interface HelperContext {
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  readonly spawn: Spawn;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export type HelperAnswer =
  | { readonly kind: 'answered'; readonly text: string }
  /** The program is not there. */
  | { readonly kind: 'lacking'; readonly problem: string }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'cancelled' };

/** Runs the comparison with somebody's own Python and gives back what it printed. */
export async function compareOutputs(
  python: string,
  script: string,
  job: CompareJob,
  context: HelperContext,
): Promise<HelperAnswer> {
  return inTemporaryFolder('accuracy', async (folder) => {
    const path = join(folder, 'job.json');
    await writeFile(path, JSON.stringify(job));
    return askIn(folder, [python, script, path], context);
  });
}

/** Runs somebody's command and gives back what it printed. */
export function runMetricCommand(command: readonly string[], context: HelperContext): Promise<HelperAnswer> {
  return inTemporaryFolder('accuracy', (folder) => askIn(folder, command, context));
}

async function askIn(
  folder: string,
  [file = '', ...args]: readonly string[],
  { cwd, env, spawn, signal, timeoutMs }: HelperContext,
): Promise<HelperAnswer> {
  const [stdoutPath, stderrPath] = [join(folder, 'stdout'), join(folder, 'stderr')];
  const result = await spawn({ file, args, cwd, env, stdoutPath, stderrPath, timeoutMs }, signal, () => {});
  if (result.cancelled || signal.aborted) return { kind: 'cancelled' };
  const shown = printable(file);
  if (result.startProblem !== null) {
    return { kind: 'lacking', problem: `${shown}: ${result.startProblem}` };
  }
  if (result.timedOut) {
    return { kind: 'failed', problem: `${shown} took longer than ${timeoutMs / 1000} s` };
  }
  if (result.exitCode !== 0) {
    const ended = result.signal ?? `exit code ${result.exitCode}`;
    const said = lastLine(await readFile(stderrPath, 'utf8'));
    return { kind: 'failed', problem: `${shown}: ${ended}${said === '' ? '' : `: ${said}`}` };
  }
  return { kind: 'answered', text: await readFile(stdoutPath, 'utf8') };
}

const MAX_PROBLEM = 300;

function lastLine(text: string): string {
  return printable(text.trim().split('\n').at(-1)?.trim() ?? '').slice(0, MAX_PROBLEM);
}
