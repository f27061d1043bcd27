import { constants, existsSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256OfFile } from '../files/files.ts';
import { makeOwnFolder, namesIn, readJson } from '../files/folders.ts';
import { KnownHashes } from '../files/hashes.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import { ENDINGS, engineIndex, type EngineNote, engineName, engineNoteSchema, writing } from './engine-index.ts';
import { timingCaches } from './timing-caches.ts';
import { Lock, type LockWait, acquire, lockHolder, tryAcquire } from '../process/lock.ts';
import { identityOf, identitySchema, isPidRunning, isRunning, orNull } from '../process/process-identity.ts';
import { isFine } from '../records/outcome.ts';
import type { BuildId } from '../records/scalars.ts';
import { formatTensorrtVersion } from '../text/version.ts';

export interface CachedEngine {
  /** Of all builds of its key and number. */
  readonly name: string;
  readonly path: string;
  readonly note: EngineNote;
}

const LOCK = '.lock';
export const USE = '.use-';
export const USED = '.used';
const BUILDING = '.building-';
/** Extension of the timing cache of a build in progress. */
export const TIMING = '.timing';

/**
 * Engines next to the store. A file is named by the hash of its content. The index links each build to its file, with
 * the hash of everything that decides it. An engine with flipped bits can run and report numbers, so bench checks its
 * hash before each use.
 */
export class EngineCache {
  readonly folder: string;
  readonly index: ReturnType<typeof engineIndex>;
  readonly timing: ReturnType<typeof timingCaches>;
  readonly hashes = new KnownHashes();
  /** Names that this process has locked. */
  private readonly held = new Set<string>();
  private readonly marked = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
    this.index = engineIndex(folder);
    this.timing = timingCaches(folder);
  }

  /**
   * Runs all work that reads or makes an engine of this name, one at a time across processes.
   * @throws InterruptedError when the wait is interrupted
   */
  async hold<Result>(name: string, waiting: LockWait, work: () => Promise<Result>): Promise<Result> {
    await this.prepare();
    const lock = await acquire(this.file(name + LOCK), waiting);
    this.held.add(name);
    try {
      return await work();
    } finally {
      this.held.delete(name);
      lock.release();
    }
  }

  /** False if an engine of this name is being built or read by others. */
  private async tryHold(name: string, work: () => Promise<void>): Promise<boolean> {
    const lock = this.held.has(name) ? null : tryAcquire(this.file(name + LOCK));
    if (lock !== null && !(lock instanceof Lock)) return false;
    try {
      await work();
    } finally {
      lock?.release();
    }
    return true;
  }

  /**
   * Marks the engines of this name as used by this process, so that they are not removed until `release()`. Call this
   * before you look at them. Marks are files next to the engine; one whose process has ended does not count.
   */
  async use(name: string, now: Date): Promise<void> {
    await this.prepare();
    if (this.marked.has(name)) return;
    this.marked.add(name);
    writeFileSync(this.file(name + USE + process.pid), JSON.stringify(identityOf(process.pid)));
    writeFileSync(this.file(name + USED), '');
    utimesSync(this.file(name + USED), now, now);
  }

  release(): void {
    for (const name of this.marked) orNull(() => rmSync(this.file(name + USE + process.pid), { force: true }));
    this.marked.clear();
  }

  /** The process of a mark; null when it has ended. */
  userOf(mark: string): number | null {
    const identity = readJson(this.file(mark), identitySchema);
    return identity !== null && isRunning(identity) ? identity.pid : null;
  }

  /** The builds that the index has, newest first, without a look at their files. */
  async builds(isWanted: (note: EngineNote) => boolean): Promise<CachedEngine[]> {
    const notes = Object.values((await this.index.read()).links).filter(isWanted);
    return notes.toReversed().map((note) => ({ name: engineName(note), path: this.pathOf(note.sha256), note }));
  }

  async isWhole({ path, note }: CachedEngine): Promise<boolean> {
    return existsSync(path) && (await this.hashes.sha256Of(path)) === note.sha256;
  }

  /** Null when it is gone or its content has changed. */
  async findBuild(buildId: BuildId): Promise<CachedEngine | null> {
    const [engine] = await this.builds((note) => note.buildId === buildId);
    return engine !== undefined && (await this.isWhole(engine)) ? engine : null;
  }

  /** Links the file of a finished build, if one has its content. After a kill, the next bench finds it by its hash. */
  async link(note: EngineNote): Promise<void> {
    const name = engineName(note);
    await this.tryHold(name, async () => {
      const path = this.pathOf(note.sha256);
      const built = namesIn(this.folder).filter(
        (entry) => entry.startsWith(name + BUILDING) && !entry.endsWith(TIMING),
      );
      for (const file of [path, ...built.map((entry) => this.file(entry))]) {
        const found = await sha256OfFile(file).catch(() => null);
        if (found?.sha256 !== note.sha256) continue;
        await this.index.change((index) => {
          if (file !== path) renameSync(file, path);
          index.links[note.buildId] = engineNoteSchema.parse({ ...note, bytes: found.bytes });
        });
        return;
      }
    });
  }

  /** Whether it is pinned, or a store may compare newer engines with it. */
  async isKept(buildId: BuildId): Promise<boolean> {
    const { lastGood, pins } = await this.index.read();
    return pins[buildId] !== undefined || Object.values(lastGood).flat().includes(buildId);
  }

  /** @returns false if an engine of this name is being built or used */
  async unlink({
    buildId,
    name,
    sha256,
  }: Pick<CachedEngine, 'name'> & Pick<EngineNote, 'buildId' | 'sha256'>): Promise<boolean> {
    return this.tryHold(name, async () => {
      await this.index.change(({ frozen, links, pins }) => {
        delete links[buildId];
        delete pins[buildId];
        for (const [definition, kept] of Object.entries(frozen)) {
          if (kept.buildId === buildId) delete frozen[definition];
        }
        if (Object.values(links).some((note) => note.sha256 === sha256)) return;
        for (const ending of ENDINGS) rmSync(this.file(sha256 + ending), { force: true });
      });
      rmSync(this.file(name + USED), { force: true });
    });
  }

  /**
   * Keeps the engines that a store may compare newer ones with, so that `gc` of another store does not remove them.
   * Forgets stores that no longer exist.
   */
  async keepFor(storePath: string, lastGood: readonly BuildId[]): Promise<void> {
    await this.index.change((index) => {
      index.lastGood[storePath] = [...lastGood];
      for (const store of Object.keys(index.lastGood)) if (!existsSync(store)) delete index.lastGood[store];
    });
  }

  async temporaryPath(name: string): Promise<string> {
    await this.prepare();
    const path = this.file(name + BUILDING + process.pid);
    await rm(path, { force: true });
    return path;
  }

  /** Removes leftovers of builds whose process has ended. */
  async sweepUp(): Promise<void> {
    for (const entry of namesIn(this.folder)) {
      if (entry.includes(USE) && this.userOf(entry) === null) await rm(this.file(entry), { force: true });
      const [, name = '', pid] = /^(.+?)(?:\.building-|\.json\.tmp-|\.cache\.tmp-)(\d+)/.exec(entry) ?? [];
      // Containers reuse process ids soon, so a build also holds its lock.
      const isHeld = (): boolean => lockHolder(this.file(name + LOCK)) !== null;
      const isAtWork = isPidRunning(Number(pid)) && (Number(pid) !== process.pid || isHeld());
      if (pid !== undefined && !isAtWork) await rm(this.file(entry), { force: true });
    }
  }

  /** @throws UsageError if the folder cannot be written */
  async prepare(): Promise<void> {
    await writing(this.folder, async () => {
      await makeOwnFolder(this.folder);
      await access(this.folder, constants.W_OK);
    });
  }

  pathOf(sha256: string): string {
    return this.file(`${sha256}.plan`);
  }

  file(name: string): string {
    return join(this.folder, name);
  }
}

/** Links an engine from `run.json` and the log of its build, which hold all facts of its note. */
export async function linkBuilt(cache: EngineCache, { log, manifest, outcome }: ReadRun): Promise<void> {
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
  await cache.link(note);
}
