import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { feed, plainName, readChunks, wholeOf } from '../files/files.ts';
import { isTemporary, RUN_MANIFEST } from '../files/layout.ts';
import { parseRunManifest } from './run-manifest.ts';
import { TooLargeError } from '../errors.ts';
import type { StoredArtefact } from '../records/run.ts';

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

/** Which files of a run are missing, or differ from the hash in the store. */
export async function verifyRunFolder(folder: string, stored: readonly StoredArtefact[], isQuick: boolean) {
  const files = await folderFiles(folder);
  const [only] = stored;
  const problems: { readonly kind: 'missing' | 'damaged'; readonly file: string }[] = [];
  for (const artefact of stored) {
    const file = files.get(artefact.name) ?? (only === artefact ? files.get('stdout.log') : undefined);
    if (file === undefined) problems.push({ kind: 'missing', file: artefact.name });
    if (file === undefined || isQuick) continue;
    // The store holds the hash of the readable part of a truncated log, so that an early end alone is not damage.
    const { bytes, sha256 } = await feed(readChunks(join(folder, file)));
    if (bytes !== artefact.bytes || sha256 !== artefact.sha256) problems.push({ kind: 'damaged', file });
  }
  const manifest = await readFile(join(folder, RUN_MANIFEST), 'utf8').catch(() => null);
  if (manifest === null || parseRunManifest(manifest).manifest === null) {
    problems.push({ kind: manifest === null ? 'missing' : 'damaged', file: RUN_MANIFEST });
  }
  return problems;
}
