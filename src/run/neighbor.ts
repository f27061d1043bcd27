import { readFileSync } from 'node:fs';

import type { ProcessResult, Spawn } from '../process/spawn.ts';
import { timeLimitText } from '../records/time-limit.ts';
import { PhaseWatch } from '../trtexec/log/phase-watch.ts';

/**
 * Starts a process next to its neighbor, where it has one: the neighbor is started first, runs inference before the
 * process starts, and is ended after it, whatever happens. Both hold the lock of the GPU.
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
  const how =
    startProblem ??
    (limit === null ? null : timeLimitText(limit)) ??
    (exitCode === null ? `ended by ${signal ?? 'an unknown signal'}` : `exit code ${exitCode}`);
  const last = readFileSync(stderrPath, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  return `its neighbor ended before it did: ${how}${last === '' ? '' : `; ${last}`}`;
}
