import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { UsageError } from '../domain/errors.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { identityOf, isProbablyRunning, readIdentity } from '../run/process-identity.ts';

const LOCK_FILE = '.lock';

/**
 * Makes sure that one process at a time measures a sweep. A lock whose process is gone counts for nothing.
 * @returns what gives the lock back
 * @throws UsageError when another process holds it
 */
export function lockSweep(artefactsFolder: string, sweepId: string): () => void {
  const folder = join(artefactsFolder, sweepId);
  const path = join(folder, LOCK_FILE);
  mkdirSync(folder, { recursive: true });
  for (;;) {
    const fd = tryCreate(path);
    if (fd !== null) {
      writeFileSync(fd, JSON.stringify(identityOf(process.pid)));
      closeSync(fd);
      return () => rmSync(path, { force: true });
    }
    const holder = lockHolder(artefactsFolder, sweepId);
    if (holder !== null) {
      throw new UsageError(
        `sweep ${sweepId.slice(0, 8)} is being measured by process ${holder}: wait for it, or end it`,
      );
    }
    rmSync(path, { force: true });
  }
}

/** The process that measures a sweep now; null when there is none. */
export function lockHolder(artefactsFolder: string, sweepId: string): number | null {
  try {
    const parsed: unknown = JSON.parse(
      readFileSync(join(artefactsFolder, sweepId, LOCK_FILE), 'utf8'),
    );
    const identity = isRecord(parsed) ? readIdentity(parsed) : null;
    return identity !== null && isProbablyRunning(identity) ? identity.pid : null;
  } catch {
    return null;
  }
}

function tryCreate(path: string): number | null {
  try {
    return openSync(path, 'wx');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return null;
    throw error;
  }
}
