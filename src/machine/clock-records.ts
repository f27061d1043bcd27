import { chmodSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';

import { isRecord } from '../text/unknown-values.ts';
import { type ProcessOwner, readOwner, thisOwner } from '../process/process-identity.ts';

/** Who locked the clocks of a GPU: written before they are, so that whatever comes next, somebody can release them. */
export interface ClockRecord {
  readonly gpuUuid: string;
  readonly gpuName: string;
  /** `locked 1590 MHz`. */
  readonly policy: string;
  readonly lockedAt: string;
  readonly owner: ProcessOwner;
}

/** Anybody may release the clocks of a bench that is gone, and say so in its record. */
const SHARED_MODE = 0o666;

export function newRecord(gpu: Pick<ClockRecord, 'gpuUuid' | 'gpuName' | 'policy'>, lockedAt: Date): ClockRecord {
  return { ...gpu, lockedAt: lockedAt.toISOString(), owner: thisOwner() };
}

export function writeRecord(path: string, { owner, ...record }: ClockRecord): void {
  const text = `${JSON.stringify({ schemaVersion: 1, ...record, ...owner }, null, 1)}\n`;
  try {
    // Without O_CREAT, which the kernel refuses for somebody else's file in a folder that all share.
    writeFileSync(path, text, { flag: 'r+' });
    truncateSync(path, Buffer.byteLength(text));
  } catch {
    writeFileSync(path, text, { mode: SHARED_MODE });
    chmodSync(path, SHARED_MODE);
  }
}

/** Null when there is none, or when it was emptied or cut off: then nothing had been locked yet. */
export function readRecord(path: string): ClockRecord | null {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isRecord(parsed) ? recordFrom(parsed) : null;
  } catch {
    return null;
  }
}

function recordFrom(parsed: Readonly<Record<string, unknown>>): ClockRecord | null {
  const owner = readOwner(parsed);
  const { gpuUuid, gpuName, policy, lockedAt } = parsed;
  if (
    owner === null ||
    typeof gpuUuid !== 'string' ||
    !isGpuUuid(gpuUuid) ||
    typeof gpuName !== 'string' ||
    typeof policy !== 'string' ||
    typeof lockedAt !== 'string'
  ) {
    return null;
  }
  return { owner, gpuUuid, gpuName, policy, lockedAt };
}

/** It becomes an argument of nvidia-smi and the name of a file. */
export function isGpuUuid(text: string): boolean {
  return /^GPU-[\w-]{1,64}$/.test(text);
}

/** Removes the record, or empties it where it is somebody else's. */
export function dropRecord(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    truncateSync(path, 0);
  }
}
