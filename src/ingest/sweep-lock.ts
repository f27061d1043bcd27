import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(identityOf(process.pid)));
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (tryLink(mine, path)) return () => rmSync(path, { force: true });
      const holder = lockHolder(artefactsFolder, sweepId);
      if (holder !== null) {
        throw new UsageError(
          `sweep ${sweepId.slice(0, 8)} is being measured by process ${holder}: wait for it, or end it`,
        );
      }
      takeAway(path);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  throw new UsageError(`${path}: cannot be taken; remove it if nothing measures this sweep`);
}

const MAX_TRIES = 20;

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

/** A lock appears with its content, or not at all: nobody can find it empty. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves a lock whose process is gone out of the way; of several that try, one succeeds. */
function takeAway(path: string): void {
  const away = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, away);
  } catch {
    return;
  }
  try {
    // Between the look and the move another process may have taken the lock: then it is put back.
    const parsed: unknown = JSON.parse(readFileSync(away, 'utf8'));
    const identity = isRecord(parsed) ? readIdentity(parsed) : null;
    if (identity !== null && isProbablyRunning(identity)) tryLink(away, path);
  } catch {
    // What cannot be read holds nothing.
  } finally {
    rmSync(away, { force: true });
  }
}
