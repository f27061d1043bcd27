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
  /** The locked frequency; null for floating clocks. */
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

/** One timing cache per GPU model and version. A build writes a copy, which replaces it on success. */
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

  /** Replaces the shared cache after a successful build. Of two concurrent ones the last stays; a mixed one is not used. */
  async takeIn(timedOn: TimedOn, copy: TimingCopy): Promise<void> {
    if (sizeOf(copy.path) === 0) return;
    const name = nameOf(timedOn);
    const mine = await sha256OfFile(copy.path);
    await rename(copy.path, this.pathOf(name));
    await writeNote(this.notePath(name), { schemaVersion: 1, ...mine, timedOn } satisfies TimingCacheNote);
  }

  /** Keeps what a build ended with next to its engine, of this hash. */
  async keep(engine: string, { path }: TimingCopy, timedOn: TimedOn): Promise<void> {
    if (!existsSync(path)) return;
    const kept = join(this.folder, `${engine}.cache`);
    try {
      await copyFile(path, kept, constants.COPYFILE_FICLONE);
      const note: TimingCacheNote = { schemaVersion: 1, ...(await sha256OfFile(kept)), timedOn };
      await writeNote(`${kept}.json`, note);
    } catch {
      // A full disk: the engine is there, only this cannot be pinned.
    }
  }

  /**
   * Copies what the build of an engine ended with, with its note, for `build.timingCache`.
   * @returns its bytes; null if nothing whole was kept
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

/** What the note next to a timing cache says of a file with these bytes; null: nothing. */
export function timingNoteOf(path: string, sha256: string): TimingCacheNote | null {
  const notes = [`${path}.json`, path.replace(/\.cache$/, '.json')].map((file) => readJson(file, noteSchema));
  return notes.find((note) => note?.sha256 === sha256) ?? null;
}

/** What a note says of a file that has the bytes of the note; null if it has others, or one of them is not there. */
async function noteIfWhole(path: string, notePath: string): Promise<TimingCacheNote | null> {
  const note = readJson(notePath, noteSchema);
  const found = await sha256OfFile(path).catch(() => null);
  return note !== null && found?.sha256 === note.sha256 ? note : null;
}

/** The library is unknown until a process has loaded it: compared, but not part of the name. */
function nameOf(timedOn: TimedOn): string {
  return hashOf({ ...timedOn, tensorrtLibrary: null });
}

function isSameLibrary(a: TimedOn, b: TimedOn): boolean {
  return a.tensorrtLibrary === null || b.tensorrtLibrary === null || a.tensorrtLibrary === b.tensorrtLibrary;
}
