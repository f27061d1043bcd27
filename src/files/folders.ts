import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { mkdir, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type * as z from 'zod';

import { temporaryPath } from './layout.ts';
import { StoreError } from '../errors.ts';
import { printable } from '../text/printable.ts';

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** @throws StoreError if it is a symbolic link; call before writing to or removing from an artefacts folder */
export function refuseLink(folder: string): void {
  if (!isLink(folder)) return;
  throw new StoreError(
    `${printable(folder)} is a symbolic link, and bench writes and removes only in its own folders; put a folder in its place`,
  );
}

const MAX_NOTE_BYTES = 64 << 20;

/**
 * Reads a small JSON file. Returns null when it is missing, a link, not a file, truncated, or does not match the
 * schema.
 */
export function readJson<Value>(path: string, schema: z.ZodType<Value>): Value | null {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const info = fstatSync(file);
      const isNote = info.isFile() && info.size <= MAX_NOTE_BYTES;
      return isNote ? schema.parse(JSON.parse(readFileSync(file, 'utf8'))) : null;
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

/** Makes a file or a folder under a temporary name and renames it when it is complete. */
export async function putInPlace<Result>(
  target: string,
  make: (temporary: string) => Promise<Result> | Result,
): Promise<Result> {
  const temporary = temporaryPath(target);
  await rm(temporary, { recursive: true, force: true });
  try {
    const result = await make(temporary);
    await rename(temporary, target);
    return result;
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Makes a folder that belongs to bench if it is missing; git ignores it. */
export async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) await writeFile(ignore, '*\n');
}

export interface FolderSize {
  readonly files: number;
  readonly bytes: number;
}

/** Counts the files at any depth and their bytes; 0 if the folder does not exist. Does not follow links. */
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

/** Sorted entries of a folder; empty if it cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The package's folder: above `dist/` in a bundle, found by its `package.json` when run from the sources. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}
