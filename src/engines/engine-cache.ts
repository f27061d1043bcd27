import { constants, existsSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { orNull } from '../errors.ts';
import { sha256OfFile } from '../files/files.ts';
import { makeOwnFolder, namesIn, readJson, sizeOf } from '../files/folders.ts';
import { KnownHashes } from '../files/hashes.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import { ENDINGS, engineIndex, type EngineNote, engineName, engineNoteSchema, writing } from './engine-index.ts';
import { timingCaches } from './timing-caches.ts';
import { Lock, type LockWait, acquire, lockHolder, tryAcquire } from '../process/lock.ts';
import { identityOf, identitySchema, isPidRunning, isRunning } from '../process/process-identity.ts';
import type { EngineFolder, KeptEngine } from '../records/engine.ts';
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
const USE = '.use-';
const USED = '.used';
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
  private userOf(mark: string): number | null {
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
  async unlink({ buildId, name, sha256 }: Pick<KeptEngine, 'buildId' | 'name' | 'sha256'>): Promise<boolean> {
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

  /** Removes files that nothing in the current index names. */
  async removeLoose(loose: EngineFolder['loose']): Promise<void> {
    await this.index.change(({ links }) => {
      const linked = new Set(Object.values(links).map(({ sha256 }) => this.pathOf(sha256)));
      for (const { path } of loose) if (!linked.has(path)) rmSync(path, { force: true });
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

  private file(name: string): string {
    return join(this.folder, name);
  }

  /** The content of the folder; the engines last used come first. */
  async contents({ hashes }: { readonly hashes: boolean }): Promise<EngineFolder> {
    const { frozen, links, pins } = await this.index.read();
    const names = namesIn(this.folder);
    const since = new Map(Object.values(frozen).map((each) => [each.buildId, each]));
    const stateOf = async (engine: CachedEngine): Promise<KeptEngine['state']> => {
      if (!existsSync(engine.path)) return 'missing';
      if (!hashes) return sizeOf(engine.path) === engine.note.bytes ? 'unchecked' : 'changed';
      return (await this.isWhole(engine)) ? 'asBuilt' : 'changed';
    };
    const engines: KeptEngine[] = [];
    for (const note of Object.values(links)) {
      const { engineKey: key, flags, schemaVersion: _schema, variant: _variant, ...known } = note;
      const [name, path] = [engineName(note), this.pathOf(note.sha256)];
      engines.push({
        ...known,
        flags: [...flags],
        name,
        key,
        path,
        bytes: sizeOf(path),
        timingCacheBytes: sizeOf(this.file(`${note.sha256}.cache`)),
        state: await stateOf({ name, path, note }),
        lastUsedAt: statSync(this.file(name + USED), { throwIfNoEntry: false })?.mtime.toISOString() ?? null,
        pinnedAt: pins[note.buildId] ?? null,
        frozenSince: since.get(note.buildId)?.since ?? null,
        usedBy: names.flatMap((entry) => (entry.startsWith(name + USE) ? (this.userOf(entry) ?? []) : [])),
      });
      since.delete(note.buildId);
    }
    const known = new Set(engines.map(({ sha256 }) => sha256));
    const loose = names.filter((entry) => {
      const [, stem = ''] = /^([0-9a-f]{32,64}.*?)\.(?:plan|cache(?:\.json)?|plan\.changed)$/.exec(entry) ?? [];
      return stem !== '' && !known.has(stem);
    });
    const timing = names.filter((entry) => /^timing-.*\.cache$/.test(entry));
    const bytesOf = (entry: string): number => sizeOf(this.file(entry));
    return {
      folder: this.folder,
      engines: engines.toSorted((a, b) => timeOf(b) - timeOf(a) || a.name.localeCompare(b.name)),
      loose: loose.map((entry) => ({ path: this.file(entry), bytes: bytesOf(entry) })),
      timingCacheBytes: timing.reduce((sum, entry) => sum + bytesOf(entry), 0),
      lost: [...since.values()].map((each) => ({ name: each.name, since: each.since })),
    };
  }
}

function timeOf({ lastUsedAt, builtAt }: KeptEngine): number {
  return Date.parse(lastUsedAt ?? builtAt ?? '1970-01-01T00:00:00Z');
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
