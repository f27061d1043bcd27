import { openSync, readSync, rmSync, statSync } from 'node:fs';

import { errorCode } from '../../errors.ts';

/** The first bytes of every file of SQLite (https://www.sqlite.org/fileformat.html, section 1.3). */
export const SQLITE_MAGIC = 'SQLite format 3\0';

/** Checks that the path still leads to the opened store, because SQLite keeps writing to a deleted file. */
export class StoreFile {
  private readonly path: string;
  private readonly inode: string | null;
  private readonly walInode: string | null;
  /** Never closed, because that would drop SQLite's locks on the same file (POSIX, `man 2 fcntl`). */
  private file: number | null = null;

  constructor(path: string) {
    this.path = path;
    this.inode = inodeOf(path);
    this.walInode = inodeOf(`${path}-wal`);
  }

  /** The loss of the file, judged by name and first bytes; null if it is intact. `what`: such as `was deleted`. */
  loss() {
    const inode = inodeOf(this.path);
    if (inode === null) return { kind: 'deleted' as const, what: 'was deleted' };
    if (inode !== this.inode) return { kind: 'replaced' as const, what: 'was replaced by another file' };
    this.file ??= openSync(this.path, 'r');
    const magic = Buffer.alloc(SQLITE_MAGIC.length);
    readSync(this.file, magic, 0, SQLITE_MAGIC.length, 0);
    return magic.toString('latin1') === SQLITE_MAGIC
      ? null
      : { kind: 'damaged' as const, what: 'was overwritten by something else' };
  }

  /** Removes the WAL, which SQLite would apply to the next file of that name. Call when all writing has ended. */
  dropWal(): void {
    if (this.walInode === null || inodeOf(`${this.path}-wal`) !== this.walInode) return;
    for (const ending of ['-wal', '-shm']) rmSync(this.path + ending, { force: true });
  }
}

function inodeOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'is not a SQLite file; name a store of bench',
  SQLITE_CANTOPEN: 'cannot be opened; does its folder exist, and may you write there?',
  SQLITE_READONLY: 'cannot be written; a store needs write access to the file and its folder',
  SQLITE_CORRUPT: 'is damaged; rename the file, then restore the store with `bench import` of its artefacts',
  SQLITE_FULL: 'cannot grow: the disk is full',
  SQLITE_IOERR: 'cannot be read or written: the disk is full or damaged',
  SQLITE_BUSY: 'is locked by another process',
};

/** The refusal of SQLite as a predicate about the store; null for other errors. */
export function sqliteRefusal(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const code = sqliteCode(error) ?? sqliteCode(error.cause);
  if (code === null) {
    return error.message.includes('directory does not exist') ? (PROBLEMS['SQLITE_CANTOPEN'] ?? null) : null;
  }
  const { message } = error.cause instanceof Error ? error.cause : error;
  const base = code.split('_').slice(0, 2).join('_');
  return PROBLEMS[base] ?? `cannot be used: SQLite says ${code}: ${message}`;
}

function sqliteCode(error: unknown): string | null {
  const code = errorCode(error);
  return code.startsWith('SQLITE_') ? code : null;
}
