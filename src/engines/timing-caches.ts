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

/**
 * Keeps one timing cache per GPU model and TensorRT version. A build writes a copy, which replaces the cache on
 * success.
 */
export function timingCaches(folder: string) {
  const keptPath = (engine: string): string => join(folder, `${engine}.cache`);
  // The library is unknown until a process has loaded it, so that it is compared but not part of the name.
  const sharedPath = (timedOn: TimedOn): string =>
    join(folder, `timing-${hashOf({ ...timedOn, tensorrtLibrary: null })}.cache`);
  return {
    /** Copies the shared cache. Returns its hash; null if there is none that can be used. */
    async copyFor(timedOn: TimedOn, to: string): Promise<string | null> {
      const shared = sharedPath(timedOn);
      await rm(to, { force: true });
      await copyFile(shared, to).catch(() => {});
      const note = await noteOf(to, shared);
      if (note !== null && isSameLibrary(note.timedOn, timedOn)) return note.sha256;
      // TensorRT warns about a truncated cache, or one of another library.
      await rm(to, { force: true });
      return null;
    },

    /**
     * Replaces the shared cache after a successful build. Of two concurrent copies, the last one stays; a cache that
     * does not match its note is not used.
     */
    async takeIn(timedOn: TimedOn, path: string): Promise<void> {
      if (sizeOf(path) === 0) return;
      const shared = sharedPath(timedOn);
      await rename(path, shared);
      await describe(shared, timedOn);
    },

    /** Keeps the timing cache at the end of a build next to its engine, under the hash of the engine. */
    async keep(engine: string, path: string, timedOn: TimedOn): Promise<void> {
      if (!existsSync(path)) return;
      const kept = keptPath(engine);
      try {
        await copyFile(path, kept, constants.COPYFILE_FICLONE);
        await describe(kept, timedOn);
      } catch {
        // On a full disk, the engine exists; only its timing cache cannot be pinned.
      }
    },

    /**
     * Copies the kept timing cache of an engine, with its note, for `build.timingCache`.
     * @returns its size in bytes; null if no whole cache was kept
     */
    async copyKept(engine: string, to: string): Promise<number | null> {
      const note = await noteOf(keptPath(engine));
      if (note === null) return null;
      await copyFile(keptPath(engine), to);
      await writeNote(`${to}.json`, note);
      return note.bytes;
    },
  };
}

async function describe(path: string, timedOn: TimedOn): Promise<void> {
  const note: TimingCacheNote = { schemaVersion: 1, ...(await sha256OfFile(path)), timedOn };
  await writeNote(`${path}.json`, note);
}

/** The note next to a timing cache, if it describes a file with these bytes; otherwise null. */
export function timingNoteOf(path: string, sha256: string): TimingCacheNote | null {
  const notes = [`${path}.json`, path.replace(/\.cache$/, '.json')].map((file) => readJson(file, noteSchema));
  return notes.find((note) => note?.sha256 === sha256) ?? null;
}

/** The note of a file, or of the cache that it is a copy of; null if none describes it. */
async function noteOf(path: string, original = path): Promise<TimingCacheNote | null> {
  const found = await sha256OfFile(path).catch(() => null);
  return found === null ? null : timingNoteOf(original, found.sha256);
}

type LibraryOf = Pick<TimedOn, 'tensorrtLibrary'>;

/** True unless both TensorRT libraries are known and differ. */
export function isSameLibrary({ tensorrtLibrary: a }: LibraryOf, { tensorrtLibrary: b }: LibraryOf): boolean {
  return a === null || b === null || a === b;
}
