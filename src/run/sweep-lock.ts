import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { sweepFolderOf } from '../artefacts/layout.ts';
import { refuseLink } from '../artefacts/own-folder.ts';
import { UsageError } from '../errors.ts';
import { lockFileHolder, sweepUpLockFiles, takeLockFile } from '../process/lock-file.ts';

const LOCK_FILE = '.lock';

/**
 * Makes sure that one process at a time measures a sweep. A lock whose process is gone counts for nothing.
 * @returns what gives the lock back
 * @throws UsageError when another process holds it
 */
export function lockSweep(artefactsFolder: string, sweepId: string): () => void {
  const folder = sweepFolderOf(artefactsFolder, sweepId);
  const path = join(folder, LOCK_FILE);
  refuseLink(folder);
  mkdirSync(folder, { recursive: true });
  const attempt = takeLockFile(path);
  switch (attempt.kind) {
    case 'taken':
      return attempt.unlock;
    case 'held':
      throw new UsageError(
        `sweep ${sweepId.slice(0, 8)} is being measured by process ${attempt.pid}: wait for it, or end it`,
      );
    case 'stuck':
      throw new UsageError(`${path}: cannot be taken; remove it if nothing measures this sweep`);
  }
}

/** Removes what processes left that were killed while they took the lock. To be called by its holder. */
export function sweepUpLocks(artefactsFolder: string, sweepId: string): void {
  sweepUpLockFiles(join(artefactsFolder, sweepId), `${LOCK_FILE}.`);
}

/** The process that measures a sweep now; null when there is none. */
export function lockHolder(artefactsFolder: string, sweepId: string): number | null {
  return lockFileHolder(join(sweepFolderOf(artefactsFolder, sweepId), LOCK_FILE));
}
