import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { EnvironmentLackingError, InterruptedError } from '../../errors.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { InputDistribution } from '../../records/accuracy.ts';
import type { Shapes } from '../../records/cell.ts';
import { count } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';

/** Input of `python/compare_outputs.py`. */
export interface CompareJob {
  readonly reference: string;
  readonly variant: string;
  /** npz or npy; null for random values. */
  readonly data: string | null;
  /** Null for all samples of the file. */
  readonly samples: number | null;
  readonly seed: number;
  readonly distribution: InputDistribution;
  /** For an open batch. */
  readonly batch: number;
  readonly shapes: Shapes;
}

/** Its last line: libraries may print before it. */
const answerSchema = z.union([
  z.object({ problem: z.string(), isLacking: z.boolean() }),
  z.object({
    samples: z.number().int().min(1),
    outputs: z.record(
      z.string(),
      z.object({
        sqnrDb: z.number().nullable(),
        relativeError: z.number().min(0),
        cosineMin: z.number(),
        cosineMean: z.number(),
        maxAbsError: z.number().min(0),
        top1: z.object({ same: count, of: z.number().int().min(1) }).nullable(),
      }),
    ),
    versions: z.record(z.string(), z.string()),
  }),
]);

export interface HelperContext {
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  readonly spawn: Spawn;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Output of the helper, or why there is none. */
type HelperAnswer = { readonly text: string } | { readonly problem: string };

/**
 * Runs the comparison with the user's Python and returns its output.
 * @throws EnvironmentLackingError without such a Python, InterruptedError on Ctrl-C
 */
export async function compareOutputs(
  python: string,
  script: string,
  job: CompareJob,
  context: HelperContext,
): Promise<HelperAnswer> {
  return inTemporaryFolder('accuracy', async (folder) => {
    const path = join(folder, 'job.json');
    await writeFile(path, JSON.stringify(job));
    return runIn(folder, [python, script, path], context);
  });
}

/**
 * Runs the user's command and returns its output.
 * @throws as `compareOutputs`
 */
export function runMetricCommand(command: readonly string[], context: HelperContext): Promise<HelperAnswer> {
  return inTemporaryFolder('accuracy', (folder) => runIn(folder, command, context));
}

async function runIn(
  folder: string,
  [file = '', ...args]: readonly string[],
  { cwd, env, spawn, signal, timeoutMs }: HelperContext,
): Promise<HelperAnswer> {
  const [stdoutPath, stderrPath] = [join(folder, 'stdout'), join(folder, 'stderr')];
  const result = await spawn({ file, args, cwd, env, stdoutPath, stderrPath, timeoutMs }, signal, () => {});
  if (result.cancelled || signal.aborted) throw new InterruptedError('interrupted');
  const shown = printable(file);
  if (result.startProblem !== null) {
    const advice = 'name a Python with numpy and onnxruntime: --python or $BENCH_PYTHON';
    throw new EnvironmentLackingError(`${shown}: ${result.startProblem}; ${advice}`);
  }
  if (result.timedOut) return { problem: `${shown} took longer than ${timeoutMs / 1000} s` };
  if (result.exitCode !== 0) {
    const ended = result.signal ?? `exit code ${result.exitCode}`;
    const reason = printable(lastLine(await readFile(stderrPath, 'utf8'))).slice(0, MAX_PROBLEM);
    return { problem: [shown, ended, reason].filter((part) => part !== '').join(': ') };
  }
  return { text: await readFile(stdoutPath, 'utf8') };
}

const MAX_PROBLEM = 300;

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}

export function readComparison(text: string): z.infer<typeof answerSchema> {
  try {
    return answerSchema.parse(JSON.parse(lastLine(text)));
  } catch {
    return { problem: 'the comparison printed no answer that bench can read', isLacking: false };
  }
}

/** The last word of the last line, as a number; null when it is none. */
export function readMetric(text: string): number | null {
  const word = text.trim().split(/\s+/).at(-1) ?? '';
  return word === '' || !Number.isFinite(Number(word)) ? null : Number(word);
}
