import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { BenchError } from '../../src/errors.ts';
import { type Invocation, type Spawn, spawnProcess } from '../../src/process/spawn.ts';
import { type Answer, answer } from '../../src/trtexec/replay/answer.ts';

const REPLAY = join(import.meta.dirname, '..', '..', 'dist', 'replay.js');

/**
 * Starts a process, unless it is the one that answers from recordings (`src/trtexec/replay/trtexec.ts`): that answers
 * here, at a tenth of the cost, and has no process that could be ended. Tests of replay itself start it.
 */
export const spawnOrReplay: Spawn = async (invocation, signal, onStart) => {
  const isOriginalTiming = invocation.env['BENCH_REPLAY_TIMING'] === 'original';
  if (invocation.args[0] !== REPLAY || isOriginalTiming) return spawnProcess(invocation, signal, onStart);
  const startedAt = new Date();
  const start = performance.now();
  const { stdout, stderr, exitCode, signal: endedBy } = answered(invocation);
  writeFileSync(invocation.stdoutPath, stdout);
  writeFileSync(invocation.stderrPath, stderr);
  return {
    exitCode: endedBy === null ? exitCode : null,
    signal: endedBy,
    timedOut: false,
    limit: null,
    cancelled: signal.aborted,
    startProblem: null,
    startedAt,
    wallS: (performance.now() - start) / 1000,
  };
};

function answered({ args, cwd, env }: Invocation): Omit<Answer, 'wallS'> {
  try {
    return answer(args.slice(1), {
      folder: env['BENCH_REPLAY_SET'] ?? '',
      cwd,
      index: Number(env['BENCH_REPLAY_INDEX'] ?? 0),
      reportPath: env['BENCH_REPLAY_REPORT'] ?? null,
    });
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    const stderr = Buffer.from(`replay error: ${error.message}\n`);
    return { stdout: Buffer.alloc(0), stderr, exitCode: 2, signal: null };
  }
}
