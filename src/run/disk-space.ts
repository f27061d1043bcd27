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
export const FULL_BYTES = 2 << 20;

/** True when that is why something on the disk of a folder could not be written. */
export function isDiskFull(folder: string): boolean {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder);
    return blocks > 0 && bavail * bsize < FULL_BYTES;
  } catch {
    return false;
  }
}

function existingParent(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : existingParent(parent);
}
