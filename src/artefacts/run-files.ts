import { readdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';

import { plainName, readChunks, wholeOf } from '../files/files.ts';
import { hasOwnName, isTemporary } from '../files/layout.ts';
import { TooLargeError } from '../errors.ts';

/** Real file names, as `prof/kernels.csv`, by plain name. An uncompressed file takes precedence over a compressed one. */
export async function folderFiles(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const entries = await readdir(folder, { recursive: hasOwnName(folder), withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile() && !isTemporary(each.name))) {
    const real = relative(folder, join(entry.parentPath, entry.name));
    const name = plainName(real);
    if (!files.has(name) || name === real) files.set(name, real);
  }
  return files;
}

type Read = (path: string) => AsyncIterable<Buffer>;

/**
 * Files of a run folder, by their names without compression.
 * @param files real names by plain name
 */
function filesIn(folder: string, files: ReadonlyMap<string, string>, read: Read) {
  let tooLarge: TooLargeError | null = null;
  const real = (name: string): string => files.get(name) ?? name;
  const rethrow = (error: unknown): never => {
    if (error instanceof TooLargeError) tooLarge ??= error;
    throw error;
  };
  /** @throws as `readChunks` does */
  async function* chunks(name: string): AsyncGenerator<Buffer> {
    try {
      yield* read(join(folder, real(name)));
    } catch (error) {
      rethrow(error);
    }
  }
  return {
    folder,
    names: [...files.keys()],
    has: (name: string): boolean => files.has(name),
    real,
    chunks,
    /** @throws TooLargeError as `wholeOf` does */
    whole: (name: string): Promise<Buffer> => wholeOf(chunks(name), join(folder, real(name))).catch(rethrow),
    tooLarge: () => tooLarge,
  };
}

export type RunFiles = ReturnType<typeof filesIn>;

export async function runFilesIn(folder: string, signal?: AbortSignal): Promise<RunFiles> {
  return filesIn(folder, await folderFiles(folder), (path) => readChunks(path, null, signal));
}

/** @param stored bytes of all files by real name, which the caller has already read */
export function runFilesOf(folder: string, stored: ReadonlyMap<string, Buffer>): RunFiles {
  const names = new Map([...stored.keys()].map((name) => [plainName(name), name]));
  return filesIn(folder, names, (path) => readChunks(path, stored.get(basename(path)) ?? null));
}
