import { existsSync, statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { orNull } from '../errors.ts';

/** Space available to the user on the disk of a folder, in bytes; null if unknown. The folder need not exist yet. */
export async function freeBytesOf(folder: string): Promise<number | null> {
  const path = existingParent(resolve(folder));
  const system = await statfs(path).catch(() => null);
  // Some network and overlay file systems report 0 for the number of blocks.
  return system === null || system.blocks === 0 ? null : system.bavail * system.bsize;
}

/** With less space left, the last writes may be truncated. */
const FULL_BYTES = 2 << 20;

/** Why the disk of a folder is full; null while there is room. */
export function fullDisk(folder: string): string | null {
  const system = orNull(() => statfsSync(folder));
  if (system === null) return null;
  const { blocks, bavail, bsize, files, ffree } = system;
  if (blocks > 0 && bavail * bsize < FULL_BYTES) return 'the disk is full';
  return files > 0 && ffree === 0 ? 'the disk has no inodes left' : null;
}

function existingParent(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : existingParent(parent);
}
