import {
  chmodSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';

import { isRecord } from '../domain/unknown-values.ts';
import {
  identityOf,
  isProbablyRunning,
  type ProcessIdentity,
  readIdentity,
} from './process-identity.ts';

/** Who locked the clocks of a GPU: written before they are, so that whatever comes next, somebody can release them. */
export interface ClockRecord {
  readonly gpuUuid: string;
  readonly gpuName: string;
  /** `locked 1590 MHz`. */
  readonly policy: string;
  readonly lockedAt: string;
  readonly host: string;
  /** Process numbers mean something only within it; null where the system has none. */
  readonly pidNamespace: string | null;
  readonly owner: ProcessIdentity;
}

/** Anybody may release the clocks of a bench that is gone, and say so in its record. */
const SHARED_MODE = 0o666;

export function newRecord(
  gpu: Pick<ClockRecord, 'gpuUuid' | 'gpuName' | 'policy'>,
  lockedAt: Date,
): ClockRecord {
  return {
    ...gpu,
    lockedAt: lockedAt.toISOString(),
    host: hostname(),
    pidNamespace: currentPidNamespace(),
    owner: identityOf(process.pid),
  };
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
  const owner = readIdentity(parsed);
  const { gpuUuid, gpuName, policy, lockedAt, host, pidNamespace } = parsed;
  if (
    owner === null ||
    typeof gpuUuid !== 'string' ||
    !isGpuUuid(gpuUuid) ||
    typeof gpuName !== 'string' ||
    typeof policy !== 'string' ||
    typeof lockedAt !== 'string' ||
    typeof host !== 'string'
  ) {
    return null;
  }
  const namespace = typeof pidNamespace === 'string' ? pidNamespace : null;
  return { owner, gpuUuid, gpuName, policy, lockedAt, host, pidNamespace: namespace };
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

/** Whether the bench that locked the clocks is at work, is gone, or cannot be seen from here. */
export function ownerState({
  owner,
  host,
  pidNamespace,
}: ClockRecord): 'running' | 'gone' | 'unseen' {
  const here = identityOf(process.pid);
  const isThisBoot = owner.bootId === here.bootId;
  if (!isThisBoot) return host === hostname() ? 'gone' : 'unseen';
  if (pidNamespace !== currentPidNamespace()) return 'unseen';
  return isProbablyRunning(owner) ? 'running' : 'gone';
}

function currentPidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}
