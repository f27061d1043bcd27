import { statSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { writeNote } from '../files/files.ts';
import { makeOwnFolder, readJson } from '../files/folders.ts';
import { hashModel } from '../files/hashes.ts';
import { isPidRunning } from '../process/process-identity.ts';
import { VARIANT_FILE } from '../tools/modelopt/conversion-args.ts';
import { type VariantRecord, variantRecord } from '../records/conversion.ts';

export interface CachedVariant {
  /** Hash of everything that determines its bytes; also the name of its folder. */
  readonly key: string;
  readonly path: string;
  readonly record: VariantRecord;
}

const NOTE = 'variant.json';
const MAKING = '.making-';
const LOGS: readonly string[] = ['stdout.log', 'stderr.log'];

/**
 * Variants next to the store. Each has a folder named by the hash of everything that determines it. The folder holds
 * the model with its external data, a note of what it is, and the log of the conversion.
 */
export class VariantCache {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Null if there is none, or if its bytes have changed. */
  async find(key: string): Promise<CachedVariant | null> {
    const variant = this.noted(key);
    const sha256 = variant && (await hashModel(variant.path).catch(() => null));
    return sha256 === variant?.record.sha256 ? variant : null;
  }

  /** Newest first, without checking the bytes. */
  async list(): Promise<CachedVariant[]> {
    const names = await readdir(this.folder).catch((): string[] => []);
    const madeMs = ({ key }: CachedVariant): number => statSync(join(this.folder, key, NOTE)).mtimeMs;
    return names.flatMap((key) => this.noted(key) ?? []).toSorted((a, b) => madeMs(b) - madeMs(a));
  }

  private noted(key: string): CachedVariant | null {
    const record = readJson(join(this.folder, key, NOTE), variantRecord);
    return record && { key, path: join(this.folder, key, VARIANT_FILE), record };
  }

  async workFolder(key: string): Promise<string> {
    await makeOwnFolder(this.folder);
    const folder = join(this.folder, `${MAKING}${key}-${process.pid}`);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    return folder;
  }

  /**
   * Moves a variant into the cache atomically. `files` are names in the folder `work` that belong to it; the log is
   * added.
   */
  async adopt(key: string, work: string, files: readonly string[], record: VariantRecord): Promise<CachedVariant> {
    const folder = join(this.folder, key);
    await writeNote(join(work, NOTE), record);
    // If the folder exists, its bytes differ from its note.
    await settle(work, folder, [...files, ...LOGS, NOTE]);
    await rm(`${folder}.failed`, { recursive: true, force: true });
    return { key, path: join(folder, VARIANT_FILE), record };
  }

  /** Keeps the log of a failed conversion. @returns its folder */
  keepLog(key: string, work: string): Promise<string> {
    return settle(work, join(this.folder, `${key}.failed`), LOGS);
  }

  async lockPath(key: string): Promise<string> {
    await makeOwnFolder(this.folder);
    return join(this.folder, `${key}.lock`);
  }

  async sweepUp(): Promise<void> {
    const names = await readdir(this.folder).catch((): string[] => []);
    for (const name of names) {
      const pid = name.startsWith(MAKING) ? Number(name.split('-').at(-1)) : null;
      if (pid === null || isPidRunning(pid)) continue;
      await rm(join(this.folder, name), { recursive: true, force: true });
    }
  }
}

/** Moves these files of a work folder, and no others, to a folder that it replaces. */
async function settle(work: string, folder: string, names: readonly string[]): Promise<string> {
  for (const name of await readdir(work)) {
    if (!names.includes(name)) await rm(join(work, name), { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
  await rename(work, folder);
  return folder;
}
