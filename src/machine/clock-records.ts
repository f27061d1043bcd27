import { chmodSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { readJson } from '../files/folders.ts';
import { errorText } from '../errors.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type LockAttempt, clockRecordNames, lockFolder, tryAcquire } from '../process/lock.ts';
import { ownerSchema, ownerState, thisOwner } from '../process/process-identity.ts';
import type { Immutable } from '../records/scalars.ts';
import { printable } from '../text/printable.ts';
import { type AskNvidiaSmi, nvidiaSmi } from '../tools/nvidia-smi/nvidia-smi.ts';

const GPU_UUID = /^GPU-[\w-]{1,64}$/;

/** The form of the file, with the owner among the other fields. */
const recordSchema = ownerSchema
  .extend({ gpuUuid: z.string().regex(GPU_UUID), gpuName: z.string(), policy: z.string(), lockedAt: z.string() })
  .transform(({ gpuUuid, gpuName, policy, lockedAt, ...owner }) => ({ gpuUuid, gpuName, policy, lockedAt, owner }));

/** Who locked the clocks of a GPU. It is written before locking, so that they can always be released. */
export type ClockRecord = Immutable<z.infer<typeof recordSchema>>;

/** Every user may release the clocks of a bench that has ended, and update its record. */
const SHARED_MODE = 0o666;

export function newRecord(gpu: Pick<ClockRecord, 'gpuUuid' | 'gpuName' | 'policy'>, lockedAt: Date): ClockRecord {
  return { ...gpu, lockedAt: lockedAt.toISOString(), owner: thisOwner() };
}

export function writeRecord(path: string, { owner, ...record }: ClockRecord): void {
  const text = `${JSON.stringify({ schemaVersion: 1, ...record, ...owner }, null, 1)}\n`;
  try {
    // Omits O_CREAT, which the kernel refuses for another user's file in a sticky folder.
    writeFileSync(path, text, { flag: 'r+' });
    truncateSync(path, Buffer.byteLength(text));
  } catch {
    writeFileSync(path, text, { mode: SHARED_MODE });
    chmodSync(path, SHARED_MODE);
  }
}

/** Null if the record is missing, empty or truncated; nothing was locked then. */
export function readRecord(path: string): ClockRecord | null {
  return readJson(path, recordSchema);
}

/** Checked because the UUID becomes an argument of nvidia-smi and a file name. */
export function isGpuUuid(text: string): boolean {
  return GPU_UUID.test(text);
}

/** Removes the record; empties a record of another user. */
export function dropRecord(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    truncateSync(path, 0);
  }
}

/**
 * Returns why the reset failed, or null. Earlier versions also locked the memory clocks, which not every board has:
 * that their reset fails does not count.
 */
export function resetClocks(ask: AskNvidiaSmi, gpuUuid: string): string | null {
  const { problem } = ask(['-i', gpuUuid, '-rgc']);
  ask(['-i', gpuUuid, '-rmc']);
  return problem;
}

export function resetByHand(gpuUuid: string): string {
  return `sudo nvidia-smi -i ${gpuUuid} -rgc; sudo nvidia-smi -i ${gpuUuid} -rmc`;
}

/** Releases clocks that a killed bench left locked. Never throws, so that the command continues. */
export function releaseLeftClocks(env: EnvironmentVariables, say: (line: string) => void): void {
  const ask = nvidiaSmi(env);
  for (const name of clockRecordNames(env)) {
    const path = join(lockFolder(env), name);
    const record = readRecord(path);
    if (record !== null && ownerState(record.owner) !== 'gone') continue;
    try {
      releaseRecord(path, ask, say);
    } catch (error) {
      const why = errorText(error);
      if (record !== null) say(stillLocked(record, path, why));
    }
  }
}

/** Holds a lock, because another process could lock the GPU again in between. */
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
    const problem = resetClocks(ask, record.gpuUuid);
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
