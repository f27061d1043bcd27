import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { packageFolder } from '../../files/folders.ts';
import { EnvironmentLackingError, InterruptedError } from '../../errors.ts';
import { ask } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { Spawn } from '../../process/spawn.ts';
import { printable } from '../../text/printable.ts';
import { MODELOPT_PACKAGES } from '../modelopt/packages.ts';

export interface HelperContext {
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  readonly spawn: Spawn;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** One of the programs in `python/`, with its requirements. */
export interface Helper<Answer> {
  readonly script: string;
  /** Such as `numpy and onnxruntime`. */
  readonly needs: string;
  readonly answer: z.ZodType<Answer>;
}

const refusal = z.object({ problem: z.string(), isLacking: z.boolean() });

/** @param named value of `--python` */
export function pythonOf(named: string | undefined, env: EnvironmentVariables): string {
  return named || env['BENCH_PYTHON'] || 'python3';
}

/** Queries versions without importing anything, because an import of ModelOpt takes seconds. */
const PYTHON_VERSIONS = `
import json, platform, sys
from importlib import metadata
def version(names):
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
packages = json.loads(sys.argv[1])
print(json.dumps({
    "python": platform.python_version(),
    "packages": {name: version(names) for name, names in packages.items()},
}))
`;

/** @param stated the named interpreter; null for `$BENCH_PYTHON`, else the first `python3` on PATH */
export async function pythonFacts(env: EnvironmentVariables, timeoutMs: number, stated: string | null = null) {
  const interpreter = pythonOf(stated ?? undefined, env);
  const args = ['-c', PYTHON_VERSIONS, JSON.stringify(MODELOPT_PACKAGES)];
  const answer = await ask(interpreter, args, { env, timeoutMs });
  /** Whether someone named it. */
  const isNamed = Boolean(stated || env['BENCH_PYTHON']);
  return { interpreter, isNamed, answer };
}

/**
 * Runs a program of `python/` with the user's Python.
 * @param folder temporary folder for the job and the output
 * @throws EnvironmentLackingError without such a Python or its requirements, InterruptedError on Ctrl-C
 */
export async function askHelper<Answer>(
  helper: Helper<Answer>,
  python: string,
  job: object,
  folder: string,
  context: HelperContext,
): Promise<Answer | { readonly problem: string }> {
  const path = join(folder, 'job.json');
  await writeFile(path, JSON.stringify(job));
  const script = join(packageFolder(), 'python', helper.script);
  const env = { ...context.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONSAFEPATH: '' };
  const answer = await runProgram([python, script, path], folder, { ...context, env }, helper.needs);
  if ('problem' in answer) return answer;
  const read = readAnswer(answer.text, helper);
  if ('value' in read) return read.value;
  if (read.isLacking) throw new EnvironmentLackingError(printable(read.problem));
  return { problem: printable(read.problem) };
}

/** Reads the last line of the output, because libraries may print before it. */
export function readAnswer<Answer>(
  text: string,
  { answer, script }: Pick<Helper<Answer>, 'answer' | 'script'>,
): { readonly value: Answer } | z.infer<typeof refusal> {
  try {
    const value: unknown = JSON.parse(lastLine(text));
    const refused = refusal.safeParse(value);
    return refused.success ? refused.data : { value: answer.parse(value) };
  } catch {
    return { problem: `${script} printed no answer that bench can read`, isLacking: false };
  }
}

/**
 * @param needs what the program needs, for the message if it cannot be started
 * @returns its output, or the reason why there is none
 */
export async function runProgram(
  [file = '', ...args]: readonly string[],
  folder: string,
  { cwd, env, spawn, signal, timeoutMs }: HelperContext,
  needs: string,
): Promise<{ readonly text: string } | { readonly problem: string }> {
  const [stdoutPath, stderrPath] = [join(folder, 'stdout'), join(folder, 'stderr')];
  const result = await spawn({ file, args, cwd, env, stdoutPath, stderrPath, timeoutMs }, signal, () => {});
  if (result.cancelled || signal.aborted) throw new InterruptedError('interrupted');
  const shown = printable(file);
  if (result.startProblem !== null) {
    const advice = `name a Python with ${needs} in $BENCH_PYTHON`;
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
