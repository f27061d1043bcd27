import { opendir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { temporaryPath } from './layout.ts';

export interface FolderSize {
  readonly files: number;
  readonly bytes: number;
}

/** Files at any depth and their bytes; none for a folder that is not there. Links are not followed. */
export async function folderSize(folder: string): Promise<FolderSize> {
  const total = { files: 0, bytes: 0 };
  const entries = await opendir(folder).catch(() => null);
  if (entries === null) return total;
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const inner = await folderSize(path);
      total.files += inner.files;
      total.bytes += inner.bytes;
    } else if (entry.isFile()) {
      total.files += 1;
      total.bytes += (await stat(path).catch(() => null))?.size ?? 0;
    }
  }
  return total;
}

/**
 * Removes a folder: at once from the sight of readers, then from the disk.
 * @returns what was in it
 */
export async function removeFolder(folder: string): Promise<FolderSize> {
  const size = await folderSize(folder);
  const away = temporaryPath(folder);
  await rm(away, { recursive: true, force: true });
  await rename(folder, away);
  await rm(away, { recursive: true, force: true });
  return size;
}
