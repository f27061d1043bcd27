import { access, constants, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

import { temporaryPath } from '../files/layout.ts';
import { EnvironmentLackingError, errorCode, SYSTEM_PROBLEMS } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { yieldToEventLoop, type Io } from './io.ts';

interface Place {
  /** Renamed to `target` at the end if the two differ. */
  readonly path: string;
  readonly target: string;
  readonly kept: number | null;
}

/**
 * Writes a file atomically: the old one stays until the new one is complete, and keeps its mode. Links are followed;
 * pipes and devices are written to.
 * @returns bytes written
 * @throws EnvironmentLackingError when the file cannot be written
 */
export async function writeOutput(
  file: string,
  chunks: Iterable<string | Uint8Array>,
  io: Io,
  mode = 0o666,
): Promise<number> {
  const fail = (error: unknown): never => {
    throw cannotWrite(file, error);
  };
  const { path, target, kept } = await placeOf(resolve(io.cwd, file)).catch(fail);
  const isTemporary = path !== target;
  if (isTemporary) await rm(path, { force: true }).catch(fail);
  const handle = await open(path, isTemporary ? 'wx' : 'w', mode).catch(fail);
  let bytes = 0;
  let isWhole = false;
  try {
    if (kept !== null) await handle.chmod(kept).catch(fail);
    for (const chunk of chunks) {
      await yieldToEventLoop(io);
      const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      await handle.writeFile(data).catch(fail);
      bytes += data.length;
    }
    if (isTemporary) await handle.sync().catch(fail);
    isWhole = true;
  } finally {
    await handle.close();
    if (!isWhole && isTemporary) await rm(path, { force: true });
  }
  if (isTemporary) {
    await rename(path, target).catch(async (error: unknown) => {
      await rm(path, { force: true });
      fail(error);
    });
  }
  return bytes;
}

async function placeOf(path: string): Promise<Place> {
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return { path: temporaryPath(path), target: path, kept: null };
  const info = await stat(path).catch(() => null);
  if (info?.isFile() !== true) return { path, target: path, kept: null };
  await access(path, constants.W_OK);
  const target = await realpath(path);
  return { path: temporaryPath(target), target, kept: info.mode & 0o7777 };
}

/** @param advice what to do instead */
export function cannotWrite(file: string, error: unknown, advice?: string): EnvironmentLackingError {
  const code = errorCode(error);
  const why = code === 'ENOENT' ? 'the folder does not exist' : (SYSTEM_PROBLEMS[code] ?? (code || 'unknown'));
  return new EnvironmentLackingError(
    `${printable(file)} cannot be written: ${why}${advice === undefined ? '' : `; ${advice}`}`,
  );
}
