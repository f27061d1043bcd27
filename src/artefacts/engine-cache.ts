import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256OfFile, writeAtomically } from './files.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { isProbablyRunning } from '../run/process-identity.ts';

/** A built engine that may be loaded: its bytes are those that were built. */
export interface CachedEngine {
  readonly engineKey: string;
  /** Tells two builds of the same key apart. */
  readonly buildId: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly path: string;
}

const BUILDING = '.building-';
/** Ending of a timing cache that belongs to a build in progress. */
export const TIMING = '.timing';

/**
 * Engines beside the store, named by everything that decides them. One with flipped bytes can run and report numbers,
 * so its hash is checked before it is used.
 */
export class EngineCache {
  private readonly folder: string;
  private readonly checked = new Map<string, CachedEngine>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The engine of a key; null when there is none, or when its bytes have changed. */
  async find(engineKey: string): Promise<CachedEngine | null> {
    const known = this.checked.get(engineKey);
    if (known !== undefined) return known;
    const path = this.pathOf(engineKey);
    const stated = this.readNote(engineKey);
    if (stated === null || !existsSync(path)) return null;
    const { sha256, bytes } = await sha256OfFile(path);
    if (sha256 !== stated.sha256) return null;
    const engine = { engineKey, buildId: stated.buildId, sha256, bytes, path };
    this.checked.set(engineKey, engine);
    return engine;
  }

  /** Where a build writes: no reader ever looks there. */
  async temporaryPath(engineKey: string): Promise<string> {
    await this.prepare();
    const path = join(this.folder, `${engineKey}${BUILDING}${process.pid}`);
    await rm(path, { force: true });
    return path;
  }

  /**
   * Puts a finished engine in its place. Its note is written last: without it the engine is not there. After a kill
   * between build and adoption the next bench finds the file by its hash.
   */
  async adopt(engineKey: string, buildId: string, sha256: string): Promise<CachedEngine | null> {
    const path = this.pathOf(engineKey);
    const candidates = [...(await this.leftovers(engineKey)), path];
    for (const candidate of candidates) {
      if (!existsSync(candidate)) continue;
      const found = await sha256OfFile(candidate);
      if (found.sha256 !== sha256) continue;
      if (candidate !== path) await rename(candidate, path);
      const note = { schemaVersion: 1, engineKey, buildId, sha256, bytes: found.bytes };
      await writeAtomically(this.notePath(engineKey), `${JSON.stringify(note, null, 1)}\n`);
      const engine = { engineKey, buildId, sha256, bytes: found.bytes, path };
      this.checked.set(engineKey, engine);
      return engine;
    }
    return null;
  }

  private async leftovers(engineKey: string): Promise<string[]> {
    const names = await readdir(this.folder).catch((): string[] => []);
    return names
      .filter((name) => name.startsWith(engineKey + BUILDING) && !name.endsWith(TIMING))
      .map((name) => join(this.folder, name));
  }

  /** Removes what builds left behind that nobody waits for any more. */
  async sweepUp(): Promise<void> {
    const names = await readdir(this.folder).catch((): string[] => []);
    for (const name of names) {
      const pid = new RegExp(`${BUILDING}(\\d+)`).exec(name)?.[1];
      if (
        pid !== undefined &&
        !isProbablyRunning({ pid: Number(pid), startTicks: null, bootId: null })
      ) {
        await rm(join(this.folder, name), { force: true });
      }
    }
  }

  /** The timing cache of a TensorRT version and GPU, copied for one build. */
  timingCachePath(name: string): string {
    return join(this.folder, `timing-${name}.cache`);
  }

  async prepare(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const ignore = join(this.folder, '.gitignore');
    if (!existsSync(ignore)) await writeFile(ignore, '*\n');
  }

  private pathOf(engineKey: string): string {
    return join(this.folder, `${engineKey}.plan`);
  }

  private notePath(engineKey: string): string {
    return join(this.folder, `${engineKey}.json`);
  }

  private readNote(engineKey: string): { buildId: string; sha256: string } | null {
    try {
      const note: unknown = JSON.parse(readFileSync(this.notePath(engineKey), 'utf8'));
      const buildId = isRecord(note) ? note['buildId'] : null;
      const sha256 = isRecord(note) ? note['sha256'] : null;
      return typeof buildId === 'string' && typeof sha256 === 'string' ? { buildId, sha256 } : null;
    } catch {
      return null;
    }
  }
}

/** Size of a file in bytes; null when there is none. */
export async function fileBytes(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch {
    return null;
  }
}
