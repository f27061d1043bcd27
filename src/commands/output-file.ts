import { lstatSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';

import { EnvironmentLackingError } from '../domain/errors.ts';
import { printable } from '../domain/printable.ts';
import { breathe, type Io } from './io.ts';

/**
 * Writes what is made piece by piece; what cannot be written to its end is taken away again.
 * @returns the bytes that were written
 * @throws EnvironmentLackingError when the file cannot be written
 */
export async function writeOutput(
  file: string,
  chunks: Iterable<string | Uint8Array>,
  io: Io,
  mode = 0o666,
): Promise<number> {
  const path = resolve(io.cwd, file);
  let bytes = 0;
  const handle = await open(path, 'w', mode).catch((error: unknown) => {
    throw cannotWrite(file, error);
  });
  let isWhole = false;
  try {
    for (const chunk of chunks) {
      await breathe(io);
      const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      await handle.writeFile(data).catch((error: unknown) => {
        throw cannotWrite(file, error);
      });
      bytes += data.length;
    }
    isWhole = true;
  } finally {
    await handle.close();
    // Never a device or a pipe.
    if (!isWhole && lstatSync(path).isFile()) rmSync(path, { force: true });
  }
  return bytes;
}

export function cannotWrite(file: string, error: unknown): EnvironmentLackingError {
  const why = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new EnvironmentLackingError(`${printable(file)}: cannot be written (${why})`);
}
