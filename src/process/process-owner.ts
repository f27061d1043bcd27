import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

import { identityOf, isProbablyRunning, type ProcessIdentity, readIdentity } from './process-identity.ts';

/** A process and where its number means something: another machine or container may see the same files. */
export interface ProcessOwner extends ProcessIdentity {
  readonly host: string;
  /** Process numbers mean something only within it; null where the system has none. */
  readonly pidNamespace: string | null;
}

export function thisOwner(): ProcessOwner {
  return { ...identityOf(process.pid), host: hostname(), pidNamespace: currentPidNamespace() };
}

/** An owner as it was written to a file; null when it is none. */
export function readOwner(parsed: Readonly<Record<string, unknown>>): ProcessOwner | null {
  const identity = readIdentity(parsed);
  const { host, pidNamespace } = parsed;
  if (identity === null || typeof host !== 'string') return null;
  return { ...identity, host, pidNamespace: typeof pidNamespace === 'string' ? pidNamespace : null };
}

/** Whether that process is at work, is gone, or cannot be seen from here. */
export function ownerState(owner: ProcessOwner): 'running' | 'gone' | 'unseen' {
  const here = thisOwner();
  if (owner.bootId !== here.bootId) return owner.host === here.host ? 'gone' : 'unseen';
  if (owner.pidNamespace !== here.pidNamespace) return 'unseen';
  return isProbablyRunning(owner) ? 'running' : 'gone';
}

function currentPidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}
