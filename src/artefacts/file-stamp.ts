import { statSync } from 'node:fs';

import { sha256OfFile } from './files.ts';

/** What changes when a file is written or replaced. Who sets its times back still changes the last. */
export interface FileStamp {
  readonly inode: bigint;
  readonly bytes: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
}

/** Null when there is no such file. */
function stampOf(path: string): FileStamp | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return null;
  return { inode: found.ino, bytes: found.size, modifiedNs: found.mtimeNs, changedNs: found.ctimeNs };
}

function isSame(a: FileStamp | null, b: FileStamp | null): boolean {
  return (
    a !== null &&
    b !== null &&
    a.inode === b.inode &&
    a.bytes === b.bytes &&
    a.modifiedNs === b.modifiedNs &&
    a.changedNs === b.changedNs
  );
}

/**
 * Hashes of files, each taken once as long as nobody touches the file: an engine of a gigabyte must not be read for
 * each of a hundred runs.
 */
export class KnownHashes {
  private readonly known = new Map<string, { readonly stamp: FileStamp; readonly sha256: string }>();

  /** Null when the file cannot be read, or is written while it is. */
  async sha256Of(path: string): Promise<string | null> {
    const stamp = stampOf(path);
    if (stamp === null) return null;
    const known = this.known.get(path);
    if (known !== undefined && isSame(known.stamp, stamp)) return known.sha256;
    const hashed = await sha256OfFile(path).catch(() => null);
    if (hashed === null || !isSame(stamp, stampOf(path))) return null;
    this.known.set(path, { stamp, sha256: hashed.sha256 });
    return hashed.sha256;
  }
}
