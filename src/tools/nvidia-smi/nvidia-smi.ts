import { spawnSync } from 'node:child_process';

import { printable } from '../../text/printable.ts';
import { definedVariables, type EnvironmentVariables } from '../../process/environment-variables.ts';

export interface SmiResult {
  /** Null when it was not started, was ended by a signal or gave no answer in time. */
  readonly exitCode: number | null;
  /** Both of its outputs: it complains now on one, now on the other. */
  readonly text: string;
  /** What went wrong, in a few words; null when it ended with 0. */
  readonly problem: string | null;
}

export type AskNvidiaSmi = (args: readonly string[]) => SmiResult;

const TIMEOUT_MS = 20_000;
/** A Ctrl-C at the terminal ends it as well, and what it was to restore is not restored yet. */
const TRIES_AFTER_SIGNAL = 3;

/**
 * nvidia-smi, waited for on the spot: also while this process ends, when nothing else than that can be waited for.
 */
export function nvidiaSmi(env: EnvironmentVariables): AskNvidiaSmi {
  return (args) => {
    for (let tries = 1; ; tries += 1) {
      const done = spawnSync('nvidia-smi', [...args], {
        env: definedVariables(env),
        encoding: 'utf8',
        timeout: TIMEOUT_MS,
        killSignal: 'SIGKILL',
      });
      const text = `${done.stdout ?? ''}\n${done.stderr ?? ''}`.trim();
      const wasInterrupted = done.signal !== null && done.error === undefined;
      if (wasInterrupted && tries < TRIES_AFTER_SIGNAL) continue;
      return { exitCode: done.status, text, problem: problemOf(done, text) };
    }
  };
}

function problemOf(
  { status, signal, error }: Pick<ReturnType<typeof spawnSync>, 'status' | 'signal' | 'error'>,
  text: string,
): string | null {
  if (status === 0) return null;
  const code = error !== undefined && 'code' in error ? error.code : null;
  if (code === 'ENOENT') return 'nvidia-smi is not installed';
  if (code === 'ETIMEDOUT') return `nvidia-smi gave no answer in ${TIMEOUT_MS / 1000} s`;
  if (signal !== null) return `nvidia-smi was ended by ${signal}`;
  const [said] = text.split('\n');
  return said === undefined || said === ''
    ? `nvidia-smi failed with exit code ${status}`
    : `nvidia-smi says: ${printable(said)}`;
}
