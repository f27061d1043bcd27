import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { constants, copyFile, mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { isTemporary, runOfAttached, temporaryPath } from './layout.ts';
import { refuseLink } from './own-folder.ts';

/** The bytes of an attachment as they lie there: unlike the files of a run they are never compressed. */
export async function digestOfAttached(path: string): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream: AsyncIterable<Buffer> = createReadStream(path);
  for await (const chunk of stream) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}

/**
 * Copies a file to its place, where it appears whole or not at all; and says what came.
 * @throws StoreError where a folder on the way to it is a link
 */
export async function copyAttached(source: string, target: string): Promise<{ sha256: string; bytes: number }> {
  refuseLinks(target);
  await mkdir(dirname(target), { recursive: true });
  const temporary = temporaryPath(target);
  try {
    // On file systems that can, the copy takes no room.
    await copyFile(source, temporary, constants.COPYFILE_FICLONE);
    const digest = await digestOfAttached(temporary);
    await rename(temporary, target);
    return digest;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Takes one away, and its folder when it was the last.
 * @throws StoreError where a folder on the way to it is a link
 */
export async function removeAttached(path: string): Promise<void> {
  refuseLinks(path);
  await rm(path, { force: true });
  await rmdir(dirname(path)).catch(() => {});
}

/** The folder of attachments, and that of the sweep. */
function refuseLinks(path: string): void {
  refuseLink(dirname(dirname(path)));
  refuseLink(dirname(path));
}

export interface FoundAttachment {
  readonly runId: string;
  readonly name: string;
  readonly path: string;
  readonly modifiedAt: Date;
}

/** Attachments that lie under a folder of artefacts, or of a sweep of it. */
export async function attachedUnder(folder: string, depth = 2): Promise<FoundAttachment[]> {
  const found: FoundAttachment[] = [];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    const runId = runOfAttached(entry.name);
    if (runId !== null) found.push(...(await filesIn(path, runId)));
    else if (depth > 1) found.push(...(await attachedUnder(path, depth - 1)));
  }
  return found;
}

async function filesIn(folder: string, runId: string): Promise<FoundAttachment[]> {
  const found: FoundAttachment[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile() || isTemporary(entry.name)) continue;
    const path = join(folder, entry.name);
    found.push({ runId, name: entry.name, path, modifiedAt: (await stat(path)).mtime });
  }
  return found;
}
