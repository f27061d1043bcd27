import { constants, existsSync, renameSync, rmSync } from 'node:fs';
import { access, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256OfFile } from '../files/files.ts';
import { makeOwnFolder, namesIn, sizeOf } from '../files/folders.ts';
import { KnownHashes } from '../files/hashes.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import {
  ENDINGS,
  type EngineIdentity,
  EngineIndex,
  type EngineNote,
  EngineUses,
  engineName,
  engineNoteSchema,
  removeStaleUses,
  usersOf,
  writing,
} from './engine-index.ts';
import { TimingCaches } from './timing-caches.ts';
import type { LockWait } from '../process/lock.ts';
import { isPidRunning } from '../process/process-identity.ts';
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
  readonly index: EngineIndex;
  readonly uses: EngineUses;
  readonly timing: TimingCaches;
  readonly hashes = new KnownHashes();

  constructor(folder: string) {
    this.folder = folder;
    this.index = new EngineIndex(folder);
    this.uses = new EngineUses(folder);
    this.timing = new TimingCaches(folder);
  }

  /** Runs all work that reads or makes an engine of this name, one at a time across processes. */
  async hold<Result>(name: string, waiting: LockWait, work: () => Promise<Result>): Promise<Result> {
    await this.prepare();
    return this.uses.hold(name, waiting, work);
  }

  /** Keeps the engines of this name from being removed until `uses.release()`. */
  async use(name: string, now: Date): Promise<void> {
    await this.prepare();
    this.uses.mark(name, now);
  }

  /** The builds that the index has, newest first, without a look at their files. */
  async builds(isWanted: (note: EngineIdentity) => boolean): Promise<CachedEngine[]> {
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
    await this.uses.tryHold(name, async () => {
      const path = this.pathOf(note.sha256);
      const built = namesIn(this.folder).filter(
        (entry) => entry.startsWith(name + BUILDING) && !entry.endsWith(TIMING),
      );
      for (const file of [path, ...built.map((entry) => join(this.folder, entry))]) {
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
    const { lastGood, links, pins } = await this.index.read();
    const isPinned = Object.entries(links).some(([link, note]) => note.buildId === buildId && pins[link] !== undefined);
    return isPinned || Object.values(lastGood).flat().includes(buildId);
  }

  /** Null if an engine of this name is being built or used. */
  async unlink({ buildId, name, sha256 }: Pick<KeptEngine, 'buildId' | 'name' | 'sha256'>): Promise<true | null> {
    return this.uses.tryHold(name, async (): Promise<true> => {
      await this.index.change(({ frozen, links, pins }) => {
        for (const [key, note] of Object.entries(links)) {
          if (note.buildId !== buildId) continue;
          delete links[key];
          delete pins[key];
        }
        for (const [definition, kept] of Object.entries(frozen)) {
          if (kept.buildId === buildId) delete frozen[definition];
        }
        if (Object.values(links).some((note) => note.sha256 === sha256)) return;
        for (const ending of ENDINGS) rmSync(join(this.folder, sha256 + ending), { force: true });
      });
      this.uses.forget(name);
      return true;
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
    const path = join(this.folder, `${name}${BUILDING}${process.pid}`);
    await rm(path, { force: true });
    return path;
  }

  /** Removes leftovers of builds whose process has ended. */
  async sweepUp(): Promise<void> {
    removeStaleUses(this.folder);
    for (const entry of namesIn(this.folder)) {
      const [, name = '', pid] = /^(.+?)(?:\.building-|\.json\.tmp-|\.cache\.tmp-)(\d+)/.exec(entry) ?? [];
      // Containers reuse process ids soon, so a build also holds its lock.
      const isAtWork = isPidRunning(Number(pid)) && (Number(pid) !== process.pid || this.uses.isHeld(name));
      if (pid !== undefined && !isAtWork) await rm(join(this.folder, entry), { force: true });
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
    return join(this.folder, `${sha256}.plan`);
  }

  /** The content of the folder; the engines last used come first. */
  async contents({ hashes }: { readonly hashes: boolean }): Promise<EngineFolder> {
    const { folder } = this;
    const { frozen, links, pins } = await this.index.read();
    const names = namesIn(folder);
    const since = new Map(Object.values(frozen).map((each) => [each.buildId, each]));
    const stateOf = async (engine: CachedEngine): Promise<KeptEngine['state']> => {
      if (!existsSync(engine.path)) return 'missing';
      if (!hashes) return sizeOf(engine.path) === engine.note.bytes ? 'unchecked' : 'changed';
      return (await this.isWhole(engine)) ? 'asBuilt' : 'changed';
    };
    const engines: KeptEngine[] = [];
    for (const [link, note] of Object.entries(links)) {
      const { engineKey: key, flags, schemaVersion: _schema, variant: _variant, ...known } = note;
      const [name, path] = [engineName(note), this.pathOf(note.sha256)];
      engines.push({
        ...known,
        flags: [...flags],
        name,
        key,
        path,
        bytes: sizeOf(path),
        timingCacheBytes: sizeOf(join(folder, `${note.sha256}.cache`)),
        state: await stateOf({ name, path, note }),
        lastUsedAt: this.uses.lastUsed(name)?.toISOString() ?? null,
        pinnedAt: pins[link] ?? null,
        frozenSince: since.get(note.buildId)?.since ?? null,
        usedBy: usersOf(folder, name, names),
      });
      since.delete(note.buildId);
    }
    const known = new Set(engines.map(({ sha256 }) => sha256));
    const loose = names.filter((entry) => {
      const [, stem = ''] = /^([0-9a-f]{32,64}.*?)\.(?:plan|cache(?:\.json)?|plan\.changed)$/.exec(entry) ?? [];
      return stem !== '' && !known.has(stem);
    });
    const timing = names.filter((entry) => /^timing-.*\.cache$/.test(entry));
    return {
      folder,
      engines: engines.toSorted((a, b) => timeOf(b) - timeOf(a) || a.name.localeCompare(b.name)),
      loose: loose.map((entry) => ({ path: join(folder, entry), bytes: sizeOf(join(folder, entry)) })),
      timingCacheBytes: timing.reduce((sum, entry) => sum + sizeOf(join(folder, entry)), 0),
      lost: [...since.values()].map((each) => ({ name: each.name, since: each.since })),
    };
  }
}

function timeOf({ lastUsedAt, builtAt }: KeptEngine): number {
  return Date.parse(lastUsedAt ?? builtAt ?? '1970-01-01T00:00:00Z');
}

export async function fileBytes(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch {
    return null;
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
