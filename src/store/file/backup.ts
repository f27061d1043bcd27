import { closeSync, fsyncSync, openSync } from 'node:fs';

import Database from 'better-sqlite3';

import type { StoreDatabase } from './open.ts';

const PAGES_AT_ONCE = 2000;

export interface CopiedStore {
  readonly runs: number;
  /** `ok`, or SQLite's first error. */
  readonly quickCheck: string;
}

/** Copies a consistent snapshot of a store to a new file, which is on disk on return. */
export async function backupStore(
  { $client }: StoreDatabase,
  target: string,
  onProgress: (percent: number) => void,
  signal: AbortSignal,
): Promise<CopiedStore> {
  // A snapshot: concurrent writes would otherwise restart the copy.
  $client.exec('BEGIN');
  try {
    $client.prepare('SELECT 1 FROM sqlite_master LIMIT 1').get();
    await $client.backup(target, {
      progress: ({ totalPages, remainingPages }) => {
        signal.throwIfAborted();
        onProgress(totalPages === 0 ? 0 : Math.floor((100 * (totalPages - remainingPages)) / totalPages));
        return PAGES_AT_ONCE;
      },
    });
  } finally {
    $client.exec('ROLLBACK');
  }
  const copied = look(target);
  sync(target);
  return copied;
}

function look(path: string): CopiedStore {
  const copy = new Database(path);
  try {
    // One file that can be copied about: without a WAL next to it.
    copy.pragma('journal_mode = DELETE');
    const quickCheck = String(copy.pragma('quick_check(1)', { simple: true }));
    const runs: unknown = copy.prepare('SELECT count(*) FROM runs').pluck().get();
    return { runs: Number(runs), quickCheck };
  } finally {
    copy.close();
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
