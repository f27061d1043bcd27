import { constants, existsSync } from 'node:fs';
import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { hashOf } from '../text/canonical-json.ts';
import { readJson, sizeOf } from '../files/folders.ts';
import { sha256OfFile, writeNote } from '../files/files.ts';

const machineSchema = z.object({
  gpuName: z.string().nullable(),
  computeCapability: z.string().nullable(),
  tensorrt: z.string(),
  tensorrtLibrary: z.string().nullable(),
  driverMajor: z.string().nullable(),
  cudaMajor: z.string().nullable(),
  /** The locked clock frequency; null for floating clocks. */
  lockedClocks: z.string().nullable(),
});

export type TimedOn = z.infer<typeof machineSchema>;

const noteSchema = z.object({
  schemaVersion: z.literal(1),
  sha256: z.string(),
  bytes: z.number(),
  timedOn: machineSchema,
});

export type TimingCacheNote = z.infer<typeof noteSchema>;

export interface TimingCopy {
  readonly path: string;
  /** Hash of the shared cache it was copied from; null if it begins empty. */
  readonly sha256: string | null;
}

/**
 * Keeps one timing cache per GPU model and TensorRT version. A build writes a copy, which replaces the cache on
 * success.
 */
export class TimingCaches {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async copyFor(timedOn: TimedOn, to: string): Promise<TimingCopy> {
    const name = nameOf(timedOn);
    await rm(to, { force: true });
    await copyFile(this.pathOf(name), to).catch(() => {});
    const note = await noteIfWhole(to, this.notePath(name));
    if (note !== null && isSameLibrary(note.timedOn, timedOn)) return { path: to, sha256: note.sha256 };
    // TensorRT warns about a truncated cache, or one of another library.
    await rm(to, { force: true });
    return { path: to, sha256: null };
  }

  /**
   * Replaces the shared cache after a successful build. Of two concurrent copies, the last one stays; a cache that does
   * not match its note is not used.
   */
  async takeIn(timedOn: TimedOn, copy: TimingCopy): Promise<void> {
    if (sizeOf(copy.path) === 0) return;
    const name = nameOf(timedOn);
    const mine = await sha256OfFile(copy.path);
    await rename(copy.path, this.pathOf(name));
    await writeNote(this.notePath(name), { schemaVersion: 1, ...mine, timedOn } satisfies TimingCacheNote);
  }

  /** Keeps the timing cache at the end of a build next to its engine, under the hash of the engine. */
  async keep(engine: string, { path }: TimingCopy, timedOn: TimedOn): Promise<void> {
    if (!existsSync(path)) return;
    const kept = join(this.folder, `${engine}.cache`);
    try {
      await copyFile(path, kept, constants.COPYFILE_FICLONE);
      const note: TimingCacheNote = { schemaVersion: 1, ...(await sha256OfFile(kept)), timedOn };
      await writeNote(`${kept}.json`, note);
    } catch {
      // On a full disk, the engine exists; only its timing cache cannot be pinned.
    }
  }

  /**
   * Copies the kept timing cache of an engine, with its note, for `build.timingCache`.
   * @returns its size in bytes; null if no whole cache was kept
   */
  async copyKept(engine: string, to: string): Promise<number | null> {
    const kept = join(this.folder, `${engine}.cache`);
    const note = await noteIfWhole(kept, `${kept}.json`);
    if (note === null) return null;
    await copyFile(kept, to);
    await writeNote(`${to}.json`, note);
    return note.bytes;
  }

  private pathOf(name: string): string {
    return join(this.folder, `timing-${name}.cache`);
  }

  private notePath(name: string): string {
    return join(this.folder, `timing-${name}.json`);
  }
}

/** The note next to a timing cache, if it describes a file with these bytes; otherwise null. */
export function timingNoteOf(path: string, sha256: string): TimingCacheNote | null {
  const notes = [`${path}.json`, path.replace(/\.cache$/, '.json')].map((file) => readJson(file, noteSchema));
  return notes.find((note) => note?.sha256 === sha256) ?? null;
}

/** The note of a file; null if the note or the file is missing, or the hash differs. */
async function noteIfWhole(path: string, notePath: string): Promise<TimingCacheNote | null> {
  const note = readJson(notePath, noteSchema);
  const found = await sha256OfFile(path).catch(() => null);
  return note !== null && found?.sha256 === note.sha256 ? note : null;
}

/**
 * Names a cache. The library is unknown until a process has loaded it, so that it is compared but not part of the name.
 */
function nameOf(timedOn: TimedOn): string {
  return hashOf({ ...timedOn, tensorrtLibrary: null });
}

function isSameLibrary(a: TimedOn, b: TimedOn): boolean {
  return a.tensorrtLibrary === null || b.tensorrtLibrary === null || a.tensorrtLibrary === b.tensorrtLibrary;
}
