import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { sweepFolderOf } from '../artefacts/layout.ts';
import { refuseLink } from '../artefacts/folders.ts';
import { UsageError } from '../errors.ts';
import { holderText, lockHolder, type LockHolder, tryAcquire } from '../process/lock.ts';
import type { SweepId } from '../records/scalars.ts';

export const LOCK_FILE = '.lock';

/**
 * @returns a function that releases the lock
 * @throws UsageError if another process holds it
 */
export function lockSweep(artefactsFolder: string, sweepId: SweepId): () => void {
  const folder = sweepFolderOf(artefactsFolder, sweepId);
  const path = join(folder, LOCK_FILE);
  refuseLink(folder);
  mkdirSync(folder, { recursive: true });
  const attempt = tryAcquire(path);
  if (attempt.kind === 'taken') return () => attempt.lock.release();
  throw new UsageError(
    `sweep ${sweepId.slice(0, 8)} is being measured by ${holderText(attempt.holder)}: wait for it, or end it`,
  );
}

export function sweepLockHolder(artefactsFolder: string, sweepId: SweepId): LockHolder | null {
  return lockHolder(join(sweepFolderOf(artefactsFolder, sweepId), LOCK_FILE));
}
