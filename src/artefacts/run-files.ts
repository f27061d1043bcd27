import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { plainName, readChunks, wholeOf } from '../files/files.ts';
import { isTemporary } from '../files/layout.ts';
import { TooLargeError } from '../errors.ts';

/** Real file names by plain name. An uncompressed file takes precedence over a compressed one. */
export async function folderFiles(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const entries = await readdir(folder, { withFileTypes: true });
  for (const { name: real } of entries.filter((entry) => entry.isFile() && !isTemporary(entry.name))) {
    const name = plainName(real);
    if (!files.has(name) || name === real) files.set(name, real);
  }
  return files;
}

/** Files of a run folder, by their names without compression. */
export class RunFiles {
  readonly folder: string;
  private readonly files: ReadonlyMap<string, string>;
  private readonly stored: ReadonlyMap<string, Buffer>;
  private readonly signal: AbortSignal | undefined;
  tooLarge: TooLargeError | null = null;

  private constructor(
    folder: string,
    files: ReadonlyMap<string, string>,
    stored: ReadonlyMap<string, Buffer>,
    signal?: AbortSignal,
  ) {
    this.folder = folder;
    this.files = files;
    this.stored = stored;
    this.signal = signal;
  }

  static async of(folder: string, signal?: AbortSignal): Promise<RunFiles> {
    return new RunFiles(folder, await folderFiles(folder), new Map(), signal);
  }

  /** @param stored bytes of all files by real name, which the caller has already read */
  static read(folder: string, stored: ReadonlyMap<string, Buffer>): RunFiles {
    return new RunFiles(folder, new Map([...stored.keys()].map((name) => [plainName(name), name])), stored);
  }

  get names(): string[] {
    return [...this.files.keys()];
  }

  has(name: string): boolean {
    return this.files.has(name);
  }

  real(name: string): string {
    return this.files.get(name) ?? name;
  }

  /** @throws as `readChunks` does */
  async *chunks(name: string): AsyncGenerator<Buffer> {
    const real = this.real(name);
    try {
      yield* readChunks(join(this.folder, real), this.stored.get(real) ?? null, this.signal);
    } catch (error) {
      throw this.noted(error);
    }
  }

  /** @throws TooLargeError as `wholeOf` does */
  whole(name: string): Promise<Buffer> {
    return wholeOf(this.chunks(name), join(this.folder, this.real(name))).catch((error: unknown) => {
      throw this.noted(error);
    });
  }

  private noted(error: unknown): unknown {
    if (error instanceof TooLargeError) this.tooLarge ??= error;
    return error;
  }
}
