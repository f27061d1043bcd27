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

/** What its last line is: libraries may print before it. */
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

/** The means that do not belong to one comparison. */
export interface HelperContext {
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  readonly spawn: Spawn;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** What somebody's program printed, or why it did not. */
type HelperAnswer = { readonly text: string } | { readonly problem: string };

/**
 * Runs the comparison with somebody's own Python and gives back what it printed.
 * @throws EnvironmentLackingError when there is no such Python, InterruptedError on Ctrl-C
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

/** Runs somebody's command and gives back what it printed. @throws as `compareOutputs` */
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

/** What `python/compare_outputs.py` printed. */
export function readComparison(text: string): z.infer<typeof answerSchema> {
  try {
    return answerSchema.parse(JSON.parse(lastLine(text)));
  } catch {
    return { problem: 'the comparison printed no answer that bench can read', isLacking: false };
  }
}

/** The number that a metric command printed: the last word of its last line. Null when that is none. */
export function readMetric(text: string): number | null {
  const word = text.trim().split(/\s+/).at(-1) ?? '';
  return word === '' || !Number.isFinite(Number(word)) ? null : Number(word);
}
