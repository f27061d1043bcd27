import { join } from 'node:path';

import { printable } from '../text/printable.ts';
import { type ClockRecord, dropRecord, readRecord } from './clock-records.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type LockAttempt, tryAcquire } from '../process/lock.ts';
import { clockRecordNames, lockFolder } from '../process/lock-folder.ts';
import { type AskNvidiaSmi, nvidiaSmi } from '../tools/nvidia-smi/nvidia-smi.ts';
import { ownerState } from '../process/process-identity.ts';

/**
 * Gives the clocks back to the driver. What nvidia-smi says against the memory clocks counts only if they were locked.
 * @returns why that failed; null when it did not
 */
export function resetClocks(ask: AskNvidiaSmi, gpuUuid: string, isMemoryLocked: boolean): string | null {
  const graphics = ask(['-i', gpuUuid, '-rgc']).problem;
  const memory = ask(['-i', gpuUuid, '-rmc']).problem;
  return graphics ?? (isMemoryLocked ? memory : null);
}

/** What to type where bench could not release them. */
export function resetByHand(gpuUuid: string): string {
  return `sudo nvidia-smi -i ${gpuUuid} -rgc; sudo nvidia-smi -i ${gpuUuid} -rmc`;
}

/** Releases what an earlier bench had locked and did not live to release. Never throws: the command goes on. */
export function releaseLeftClocks(env: EnvironmentVariables, say: (line: string) => void): void {
  const ask = nvidiaSmi(env);
  for (const name of clockRecordNames(env)) {
    const path = join(lockFolder(env), name);
    const record = readRecord(path);
    if (record !== null && ownerState(record.owner) !== 'gone') continue;
    try {
      releaseRecord(path, ask, say);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (record !== null) say(stillLocked(record, path, why));
    }
  }
}

/** Only one process may release: another could lock the GPU anew in between. */
function releaseRecord(path: string, ask: AskNvidiaSmi, say: (line: string) => void): void {
  const guard = takeGuard(path);
  if (guard.kind !== 'taken') return;
  try {
    const record = readRecord(path);
    if (record === null) {
      dropRecord(path);
      return;
    }
    if (ownerState(record.owner) !== 'gone') return;
    // Whether the memory clocks had been locked, it did not live to write down.
    const problem = resetClocks(ask, record.gpuUuid, false);
    if (problem !== null) {
      say(stillLocked(record, path, problem));
      return;
    }
    dropRecord(path);
    say(
      `released the clocks of ${gpuOf(record)}: an earlier bench (process ${record.owner.pid}) had ${record.policy.replace(/^locked/, 'locked them at')} and was killed`,
    );
  } finally {
    guard.lock.release();
  }
}

export function takeGuard(recordPath: string): LockAttempt {
  return tryAcquire(`${recordPath}.lock`, { isShared: true });
}

export function gpuOf({ gpuName, gpuUuid }: Pick<ClockRecord, 'gpuName' | 'gpuUuid'>): string {
  return `${printable(gpuName)} (${gpuUuid})`;
}

function stillLocked(record: ClockRecord, path: string, why: string): string {
  return `WARNING: an earlier bench left the clocks of ${gpuOf(record)} ${printable(record.policy)}, and they could not be released (${why}). Type: ${resetByHand(record.gpuUuid)}; rm ${printable(path)}`;
}
