import { existsSync, statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** What a user may still write to the disk of a folder, which need not be there yet; null where nothing tells. */
export async function freeBytesOf(folder: string): Promise<number | null> {
  const path = existingParent(resolve(folder));
  const system = await statfs(path).catch(() => null);
  // Some network and overlay file systems say 0 blocks of everything.
  return system === null || system.blocks === 0 ? null : system.bavail * system.bsize;
}

/** With less than this left, what was written last may have been cut off. */
const FULL_BYTES = 2 << 20;

/** Why nothing more can be written to the disk of a folder; null while there is room. */
export function fullDisk(folder: string): string | null {
  try {
    const { blocks, bavail, bsize, files, ffree } = statfsSync(folder);
    if (blocks > 0 && bavail * bsize < FULL_BYTES) return 'the disk is full';
    return files > 0 && ffree === 0 ? 'the disk has no inodes left' : null;
  } catch {
    return null;
  }
}

function existingParent(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : existingParent(parent);
}
