import { constants, existsSync } from 'node:fs';
import { copyFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { sha256OfFile, writeNote } from '../artefacts/files.ts';
import { namesIn, makeOwnFolder, readJson } from '../artefacts/folders.ts';
import { KnownHashes } from '../artefacts/hashes.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import {
  engineName,
  type EngineNote,
  FrozenEngines,
  notesIn,
  readEngineNote,
  engineNoteSchema,
} from './engine-note.ts';
import { EngineLocks, EngineUses, isNotWritable, removeStaleUses } from './engine-uses.ts';
import { KEPT_ENDINGS, TimingCaches } from './timing-caches.ts';
import type { LockWait } from '../process/lock.ts';
import { isPidRunning } from '../process/process-identity.ts';
import { isFine } from '../records/outcome.ts';
import type { BuildId } from '../records/scalars.ts';
import { formatTensorrtVersion } from '../text/version.ts';

export interface CachedEngine {
  /** File name stem; two builds of one key have two. */
  readonly name: string;
  readonly path: string;
  readonly note: EngineNote;
}

type EngineFinding =
  | { readonly kind: 'ready'; readonly engine: CachedEngine }
  | { readonly kind: 'absent' }
  | { readonly kind: 'changed'; readonly note: EngineNote };

const goneSchema = z.object({ goneAt: z.string() });

const BUILDING = '.building-';
/** Extension of the timing cache of a build in progress. */
export const TIMING = '.timing';
const CHANGED = '.changed';

/**
 * Engines next to the store, named by everything that decides them: `KEY.plan` with its note `KEY.json`. One with
 * flipped bytes can run and report numbers, so its hash is checked before each use.
 */
export class EngineCache {
  readonly folder: string;
  readonly uses: EngineUses;
  readonly timing: TimingCaches;
  readonly frozen: FrozenEngines;
  readonly locks: EngineLocks;
  readonly hashes = new KnownHashes();

  constructor(folder: string) {
    this.folder = folder;
    this.uses = new EngineUses(folder);
    this.timing = new TimingCaches(folder);
    this.frozen = new FrozenEngines(folder);
    this.locks = new EngineLocks(folder);
  }

  /**
   * Everything that looks at or makes an engine of this name happens in here, one at a time over all processes.
   * @param work is passed whether the folder cannot be written
   */
  async hold<Result>(name: string, waiting: LockWait, work: (isReadOnly: boolean) => Promise<Result>): Promise<Result> {
    await this.prepare();
    return this.locks.hold(name, waiting, work);
  }

  /** Keeps this engine from being removed until `uses.release()`. */
  async use(name: string, now: Date): Promise<void> {
    await this.prepare();
    this.uses.mark(name, now);
  }

  async find(name: string): Promise<EngineFinding> {
    const path = this.pathOf(name);
    const note = readEngineNote(this.notePath(name));
    if (note === null || !existsSync(path)) return { kind: 'absent' };
    const sha256 = await this.hashes.sha256Of(path);
    if (sha256 !== note.sha256) return { kind: 'changed', note };
    return { kind: 'ready', engine: { name, path, note } };
  }

  async setAside(name: string): Promise<string> {
    const aside = this.pathOf(name) + CHANGED;
    await rm(this.notePath(name), { force: true });
    await rename(this.pathOf(name), aside);
    return aside;
  }

  /** Makes room for another build of the same key: this one stays, under the name of its build. */
  async retire({ name, note, path }: CachedEngine): Promise<string> {
    const retired = `${name}@${note.buildId.slice(0, 8)}`;
    await writeNote(this.notePath(retired), note);
    await rename(path, this.pathOf(retired));
    for (const ending of KEPT_ENDINGS) {
      const kept = join(this.folder, name + ending);
      if (existsSync(kept)) await rename(kept, join(this.folder, retired + ending));
    }
    await rm(this.notePath(name), { force: true });
    return this.pathOf(retired);
  }

  /** The engine of this build, under whichever name; null when it is gone or its bytes have changed. */
  async findBuild(buildId: BuildId): Promise<CachedEngine | null> {
    for (const { name } of notesIn(this.folder).filter(({ note }) => note.buildId === buildId)) {
      const found = await this.find(name);
      if (found.kind === 'ready') return found.engine;
    }
    return null;
  }

  /** Copies a given engine, as its file may be replaced; not a link, as it may be written into. */
  async takeIn(path: string, note: EngineNote): Promise<void> {
    const name = note.engineKey;
    if (existsSync(this.notePath(name))) return;
    const copy = await this.temporaryPath(name);
    await copyFile(path, copy, constants.COPYFILE_FICLONE);
    await this.adopt(note);
    await rm(copy, { force: true });
  }

  /** Removes copies of given engines that nothing is compared with any more. */
  async dropCopies(wanted: ReadonlySet<BuildId>, now: Date): Promise<void> {
    for (const { name, note } of notesIn(this.folder)) {
      if (note.isGiven && !wanted.has(note.buildId)) await this.remove(name, now);
    }
  }

  async temporaryPath(name: string): Promise<string> {
    await this.prepare();
    const path = join(this.folder, `${name}${BUILDING}${process.pid}`);
    await rm(path, { force: true });
    return path;
  }

  /** The note is written last: without it the engine does not exist, and the next bench finds the file by its hash. */
  async adopt(note: EngineNote): Promise<CachedEngine | null> {
    const name = engineName(note.engineKey, note.number);
    return this.locks.tryHold(name, async () => {
      const found = await this.find(name);
      // Another process was faster, and its runs have begun with its engine.
      if (found.kind === 'ready' && found.engine.note.buildId !== note.buildId) return null;
      return this.putInPlace(name, note);
    });
  }

  private async putInPlace(name: string, note: EngineNote): Promise<CachedEngine | null> {
    const path = this.pathOf(name);
    for (const candidate of [...this.leftovers(name), path]) {
      if (!existsSync(candidate)) continue;
      const { bytes, sha256 } = await sha256OfFile(candidate);
      if (sha256 !== note.sha256) continue;
      if (candidate !== path) await rename(candidate, path);
      const whole = { ...note, bytes };
      await writeNote(this.notePath(name), whole);
      return { name, path, note: whole };
    }
    return null;
  }

  private leftovers(name: string): string[] {
    return namesIn(this.folder)
      .filter((entry) => entry.startsWith(name + BUILDING) && !entry.endsWith(TIMING))
      .map((entry) => join(this.folder, entry));
  }

  /** Null if the engine is being built or used. */
  async remove(name: string, now: Date): Promise<true | null> {
    return this.locks.tryHold(name, async (): Promise<true> => {
      const buildId = readEngineNote(this.notePath(name))?.buildId;
      if (buildId !== undefined) {
        await writeNote(this.gonePath(buildId), { goneAt: now.toISOString() });
      }
      // Note first: without it the engine does not exist, even if the rest fails.
      await rm(this.notePath(name), { force: true });
      for (const ending of ['.plan', `.plan${CHANGED}`, '.used', '.pin', ...KEPT_ENDINGS]) {
        await rm(join(this.folder, name + ending), { force: true });
      }
      return true;
    });
  }

  /** When the engine of a build was removed; null if that is not known. */
  goneSince(buildId: BuildId): string | null {
    return readJson(this.gonePath(buildId), goneSchema)?.goneAt ?? null;
  }

  /** Removes leftovers of builds whose process is gone. */
  async sweepUp(): Promise<void> {
    removeStaleUses(this.folder);
    for (const entry of namesIn(this.folder)) {
      const [, name = '', pid] = /^(.+?)(?:\.building-|\.json\.tmp-|\.cache\.tmp-)(\d+)/.exec(entry) ?? [];
      if (pid === undefined || this.isAtWork(name, Number(pid))) continue;
      await rm(join(this.folder, entry), { force: true });
    }
  }

  /** In containers process ids are soon reused: a build holds its lock as well. */
  private isAtWork(name: string, pid: number): boolean {
    return isPidRunning(pid) && (pid !== process.pid || this.locks.isHeld(name));
  }

  async prepare(): Promise<void> {
    try {
      await makeOwnFolder(this.folder);
    } catch (error) {
      if (!isNotWritable(error)) throw error;
    }
  }

  pathOf(name: string): string {
    return join(this.folder, `${name}.plan`);
  }

  notePath(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  private gonePath(buildId: BuildId): string {
    return join(this.folder, `gone-${buildId}.json`);
  }
}

export async function fileBytes(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch {
    return null;
  }
}

/**
 * Takes the engine of a finished build into the cache. Everything that its note says is in `run.json` and in the
 * log: after a kill the next bench can do it as well.
 */
export async function adoptBuilt(cache: EngineCache, { log, manifest, outcome }: ReadRun): Promise<void> {
  const { build, buildId, engineKey, engineSha256, environment, role } = manifest;
  if (role !== 'build' || !isFine(outcome)) return;
  if (engineKey === null || engineSha256 === null || buildId === null) return;
  const note = engineNoteSchema.parse({
    ...environment,
    ...manifest,
    ...build,
    schemaVersion: 1,
    sha256: engineSha256,
    bytes: manifest.engineBytes ?? 0,
    gpuName: log.device.name ?? environment.gpuName,
    computeCapability: log.device.computeCapability ?? environment.computeCapability,
    tensorrt: log.tensorrtVersion === null ? null : formatTensorrtVersion(log.tensorrtVersion),
    builtAt: manifest.startedAt,
    buildS: log.build.engineBuiltS,
  });
  await cache.adopt(note);
}
