import { access, constants, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

import { temporaryPath } from '../files/layout.ts';
import { ensure, EnvironmentLackingError, errorCode } from '../errors.ts';
import { headOfFile } from '../files/files.ts';
import { SQLITE_MAGIC } from '../store/file/store-file.ts';
import { printable } from '../text/printable.ts';
import { yieldToEventLoop, type Io } from './io.ts';

/**
 * Writes a file atomically: the old one stays until the new one is complete, and keeps its mode. Links are followed;
 * pipes and devices are written to.
 * @returns bytes written
 * @throws EnvironmentLackingError when the file cannot be written
 * @throws UsageError when it is a store
 */
export async function writeOutput(
  file: string,
  chunks: Iterable<string | Uint8Array>,
  io: Io,
  mode = 0o666,
): Promise<number> {
  let temporary: string | null = null;
  try {
    const { kept, target } = await placeOf(resolve(io.cwd, file));
    if (kept !== 'device') {
      temporary = temporaryPath(target);
      await rm(temporary, { force: true });
    }
    const handle = await open(temporary ?? target, temporary === null ? 'w' : 'wx', mode);
    let bytes = 0;
    try {
      if (typeof kept === 'number') await handle.chmod(kept);
      for (const chunk of chunks) {
        await yieldToEventLoop(io);
        const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        await handle.writeFile(data);
        bytes += data.length;
      }
      if (temporary !== null) await handle.sync();
    } finally {
      await handle.close();
    }
    if (temporary !== null) await rename(temporary, target);
    return bytes;
  } catch (error) {
    if (temporary !== null) await rm(temporary, { force: true });
    throw error instanceof Error && 'syscall' in error ? cannotWrite(file, error) : error;
  }
}

/** The file itself, with the mode that it keeps; null for a new one. */
async function placeOf(path: string) {
  if ((await lstat(path).catch(() => null)) === null) return { target: path, kept: null };
  const info = await stat(path).catch(() => null);
  if (info?.isFile() !== true) return { target: path, kept: 'device' };
  await access(path, constants.W_OK);
  const isStore = headOfFile(path, SQLITE_MAGIC.length).toString() === SQLITE_MAGIC;
  ensure(!isStore, `${printable(path)} is a SQLite database, such as a store: name another file`);
  return { target: await realpath(path), kept: info.mode & 0o7777 };
}

/** @param advice what to do instead */
export function cannotWrite(file: string, error: unknown, advice?: string): EnvironmentLackingError {
  const code = errorCode(error);
  const why = code === 'ENOENT' ? 'the folder does not exist' : (SYSTEM_PROBLEMS[code] ?? (code || 'unknown'));
  return new EnvironmentLackingError(`${file} cannot be written: ${why}${advice === undefined ? '' : `; ${advice}`}`);
}

/** Words for the code of a system or SQLite error about a file. */
export const SYSTEM_PROBLEMS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  SQLITE_FULL: 'the disk is full',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EMFILE: 'too many open files',
  ENOENT: 'file or folder not found',
  EEXIST: 'a part of its path is not a folder',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder; name a file',
  EIO: 'the disk cannot be read or written',
  ENAMETOOLONG: 'the name is too long',
};
