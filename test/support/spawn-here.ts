import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { BenchError } from '../../src/errors.ts';
import type { EnvironmentVariables } from '../../src/process/environment-variables.ts';
import { type Invocation, type Spawn, spawnProcess } from '../../src/process/spawn.ts';
import { answer } from '../../src/trtexec/replay/answer.ts';

const REPLAY = join(import.meta.dirname, '..', '..', 'dist', 'replay.js');

/** What a program would have left. */
interface Answered {
  readonly stdout: Buffer | string;
  readonly stderr: Buffer | string;
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Starts a process, unless it is the one that answers from recordings (`src/trtexec/replay/trtexec.ts`) or the stand-in
 * of bisections, where it just answers: they answer here, at a tenth of the cost, and have no process that could be ended.
 * Tests of replay itself, and of signals, start them.
 */
export const spawnHere: Spawn = async (invocation, signal, onStart) => {
  const program = await programOf(invocation);
  if (program === null || signal.aborted) return spawnProcess(invocation, signal, onStart);
  const startedAt = new Date();
  const start = performance.now();
  const { stdout, stderr, exitCode, signal: endedBy } = program();
  writeFileSync(invocation.stdoutPath, stdout);
  writeFileSync(invocation.stderrPath, stderr);
  return {
    exitCode: endedBy === null ? exitCode : null,
    signal: endedBy,
    timedOut: false,
    limit: null,
    cancelled: signal.aborted,
    logTooLong: false,
    startProblem: null,
    startedAt,
    wallS: (performance.now() - start) / 1000,
  };
};

async function programOf(invocation: Invocation): Promise<(() => Answered) | null> {
  if (invocation.args[0] === REPLAY) {
    return invocation.env['BENCH_REPLAY_TIMING'] === 'original' ? null : () => replayed(invocation);
  }
  return standIn(invocation);
}

function replayed({ args, cwd, env }: Invocation): Answered {
  try {
    return answer(args.slice(1), {
      folder: env['BENCH_REPLAY_SET'] ?? '',
      cwd,
      index: Number(env['BENCH_REPLAY_INDEX'] ?? 0),
      reportPath: env['BENCH_REPLAY_REPORT'] ?? null,
    });
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    return { stdout: '', stderr: `replay error: ${error.message}\n`, exitCode: 2, signal: null };
  }
}

interface Start {
  readonly args: readonly string[];
  readonly env: EnvironmentVariables;
  readonly cwd: string;
}

interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

type StandIn = (start: Start, streams: Streams) => { readonly last: string; readonly exitCode: number };

interface StandIns {
  readonly answerAsBuilt: StandIn;
  readonly needsProcess: (start: Start) => boolean;
}

const support = (file: string): string => join(import.meta.dirname, file);

/** What its process would print last, after a delay, is printed as all else. */
async function standIn({ file, args, env, cwd }: Invocation): Promise<(() => Answered) | null> {
  if (pathOf(file) !== support('bisect-trtexec.mjs')) return null;
  const bisect: StandIns = await import(pathToFileURL(support('bisect-answer.mjs')).href);
  const start = { args, env, cwd };
  if (bisect.needsProcess(start)) return null;
  return () => {
    let stdout = '';
    let stderr = '';
    const streams = { out: (text: string) => void (stdout += text), err: (text: string) => void (stderr += text) };
    const { last, exitCode } = bisect.answerAsBuilt(start, streams);
    return { stdout: stdout + last, stderr, exitCode, signal: null };
  };
}

/** Where a link leads; itself when there is nothing. */
function pathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
