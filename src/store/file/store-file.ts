import { accessSync, constants, fstatSync, openSync, readSync, rmSync, statSync } from 'node:fs';

/** What happened to the file of a store while it was open. */
export interface StoreLoss {
  readonly kind: 'deleted' | 'replaced' | 'damaged' | 'forbidden';
  /** The end of a sentence about the file: `was deleted`. */
  readonly what: string;
}

/** https://www.sqlite.org/fileformat.html, section 1.3: magic, page size, change counter, size in pages. */
const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const PAGE_SIZE_AT = 16;
const CHANGE_COUNTER_AT = 24;
const PAGES_AT = 28;

/** Another process may be moving the WAL into the file just now: the first page is written first. */
const LOOKS_AT_SIZE = 30;
const BETWEEN_LOOKS_MS = 100;

const OWNER_MAY = 0o600;

/**
 * Tells whether the path of an open store still leads to the file that was opened, and whether that looks like a store.
 * SQLite itself notices nothing: it goes on writing into a file that was deleted.
 */
export class StoreFile {
  private readonly path: string;
  private readonly inode: string | null;
  private readonly walInode: string | null;
  private readonly wasOwners: boolean;
  /** Never closed: that would take away the locks that SQLite has on the same file (POSIX, `man 2 fcntl`). */
  private file: number | null = null;
  private changeCounter = 0;
  private size: number;

  /** To be made when the store is open and its WAL is there. */
  constructor(path: string) {
    this.path = path;
    this.inode = inodeOf(path);
    this.walInode = inodeOf(`${path}-wal`);
    this.wasOwners = mayOwner(path);
    this.size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Null while it is whole, as far as its name, its first page and its size tell. */
  loss(): StoreLoss | null {
    const inode = inodeOf(this.path);
    if (inode === null) return { kind: 'deleted', what: 'was deleted' };
    if (inode !== this.inode) return { kind: 'replaced', what: 'was replaced by another file' };
    if (this.isForbidden()) {
      return { kind: 'forbidden', what: 'may no longer be read and written' };
    }
    const what = this.damage();
    return what === null ? null : { kind: 'damaged', what };
  }

  /**
   * Removes the WAL of a store that was deleted or replaced: SQLite would play it into the next file of that name.
   * To be called when nothing is written any more.
   */
  dropWal(): void {
    if (this.walInode === null || inodeOf(`${this.path}-wal`) !== this.walInode) return;
    for (const ending of ['-wal', '-shm']) rmSync(this.path + ending, { force: true });
  }

  private isForbidden(): boolean {
    try {
      accessSync(this.path, constants.R_OK | constants.W_OK);
      // Root may do everything: then the mode says what was meant.
      return this.wasOwners && !mayOwner(this.path);
    } catch {
      return true;
    }
  }

  private damage(): string | null {
    this.file ??= openSync(this.path, 'r');
    for (let look = 1; ; look += 1) {
      const header = Buffer.alloc(HEADER_BYTES);
      const bytes = readSync(this.file, header, 0, HEADER_BYTES, 0);
      if (bytes < HEADER_BYTES) return 'was cut short';
      if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
        return 'was overwritten by something else';
      }
      const changeCounter = header.readUInt32BE(CHANGE_COUNTER_AT);
      if (changeCounter < this.changeCounter) return 'was overwritten by another store';
      this.changeCounter = changeCounter;
      const { size } = fstatSync(this.file);
      // Less than the first page says may have been moved there; but only VACUUM makes it shorter, and says so there.
      const stated = pageSizeIn(header) * header.readUInt32BE(PAGES_AT);
      if (size >= Math.min(this.size, stated)) {
        this.size = size;
        return null;
      }
      if (look === LOOKS_AT_SIZE) return 'was cut short';
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_LOOKS_MS);
    }
  }
}

function inodeOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

function mayOwner(path: string): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & OWNER_MAY) === OWNER_MAY;
}

/** 1 represents 65536, which two bytes cannot say. */
function pageSizeIn(header: Buffer): number {
  const stated = header.readUInt16BE(PAGE_SIZE_AT);
  return stated === 1 ? 1 << 16 : stated;
}
