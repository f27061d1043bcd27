import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { feed, plainName, readChunks, wholeOf } from './files.ts';
import { isTemporary, RUN_MANIFEST } from './layout.ts';
import { parseRunManifest } from './run-manifest.ts';
import { TooLargeError } from '../errors.ts';
import type { StoredArtefact } from '../records/run.ts';

/** Files up to this size stay in memory, because they are read more than once. */
const KEPT_BYTES = 8 << 20;
const KEPT_FILE_BYTES = 1 << 20;

/** Real file names by plain name. An uncompressed file takes precedence over a compressed one. */
export async function folderFiles(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isFile()) addName(files, entry.name);
  }
  return files;
}

function addName(files: Map<string, string>, real: string): void {
  const name = plainName(real);
  if (isTemporary(real)) return;
  if (!files.has(name) || name === real) files.set(name, real);
}

/** Files of a run folder, by their names without compression. */
export class RunFiles {
  readonly folder: string;
  private readonly files: ReadonlyMap<string, string>;
  private readonly packed: ReadonlyMap<string, Buffer | null>;
  private readonly kept = new Map<string, Buffer>();
  private room = KEPT_BYTES;
  private readonly signal: AbortSignal | undefined;
  tooLarge: TooLargeError | null = null;

  private constructor(
    folder: string,
    files: ReadonlyMap<string, string>,
    packed: ReadonlyMap<string, Buffer | null>,
    signal?: AbortSignal,
  ) {
    this.signal = signal;
    this.folder = folder;
    this.files = files;
    this.packed = packed;
  }

  static async of(folder: string, signal?: AbortSignal): Promise<RunFiles> {
    return new RunFiles(folder, await folderFiles(folder), new Map(), signal);
  }

  /** @param read all files of the folder by real name, with their stored bytes if already read */
  static read(folder: string, read: ReadonlyMap<string, Buffer | null>): RunFiles {
    const files = new Map<string, string>();
    for (const name of read.keys()) addName(files, name);
    return new RunFiles(folder, files, read);
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
    const known = this.kept.get(name);
    if (known !== undefined) {
      yield known;
      return;
    }
    const real = this.real(name);
    let copies: Buffer[] | null = [];
    let bytes = 0;
    try {
      for await (const chunk of readChunks(join(this.folder, real), this.packed.get(real) ?? null, this.signal)) {
        bytes += chunk.length;
        if (bytes > Math.min(KEPT_FILE_BYTES, this.room)) copies = null;
        copies?.push(chunk);
        yield chunk;
      }
    } catch (error) {
      throw this.noted(error);
    }
    if (copies === null) return;
    this.kept.set(name, Buffer.concat(copies));
    this.room -= bytes;
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

interface FileProblem {
  readonly kind: 'missing' | 'damaged';
  readonly file: string;
}

const KEPT_LOG = 'stdout.log';

/** Which files of a run are missing, or differ from the hash in the store. */
export async function verifyRunFolder(
  folder: string,
  stored: readonly StoredArtefact[],
  isQuick: boolean,
): Promise<FileProblem[]> {
  const files = await folderFiles(folder);
  const [only] = stored;
  const problems: FileProblem[] = [];
  for (const artefact of stored) {
    const file = files.get(artefact.name) ?? (only === artefact ? files.get(KEPT_LOG) : undefined);
    if (file === undefined) problems.push({ kind: 'missing', file: artefact.name });
    if (file === undefined || isQuick) continue;
    // The store holds the hash of the readable part of a truncated log, so that an early end alone is not damage.
    const { bytes, sha256 } = await feed(readChunks(join(folder, file)));
    if (bytes !== artefact.bytes || sha256 !== artefact.sha256) problems.push({ kind: 'damaged', file });
  }
  const manifest = await readFile(join(folder, RUN_MANIFEST), 'utf8').catch(() => null);
  if (manifest === null || parseRunManifest(manifest).kind !== 'read') {
    problems.push({ kind: manifest === null ? 'missing' : 'damaged', file: RUN_MANIFEST });
  }
  return problems;
}
