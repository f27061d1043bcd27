import { constants, existsSync, renameSync, rmSync } from 'node:fs';
import { access, copyFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256OfFile } from '../files/files.ts';
import { makeOwnFolder, namesIn, sizeOf } from '../files/folders.ts';
import { KnownHashes } from '../files/hashes.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import {
  ENDINGS,
  EngineIndex,
  type EngineNote,
  EngineUses,
  engineName,
  engineNoteSchema,
  removeStaleUses,
  usersOf,
} from './engine-index.ts';
import { TimingCaches } from './timing-caches.ts';
import type { LockWait } from '../process/lock.ts';
import { isPidRunning } from '../process/process-identity.ts';
import type { EngineFolder, KeptEngine } from '../records/engine.ts';
import { isFine } from '../records/outcome.ts';
import type { BuildId } from '../records/scalars.ts';
import { errorCode, UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { formatTensorrtVersion } from '../text/version.ts';

export interface CachedEngine {
  /** Name in the index; two builds of one key have two names. */
  readonly name: string;
  readonly path: string;
  readonly note: EngineNote;
}

type EngineFinding =
  | { readonly kind: 'ready'; readonly engine: CachedEngine }
  | { readonly kind: 'absent' }
  | { readonly kind: 'changed'; readonly note: EngineNote };

const BUILDING = '.building-';
/** Extension of the timing cache of a build in progress. */
export const TIMING = '.timing';

/**
 * Engines next to the store. A file is named by the hash of its content. The index links the name of an engine, the
 * hash of everything that decides it, to that file. An engine with flipped bits can run and report numbers, so bench
 * checks its hash before each use.
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

  /** Keeps this engine from being removed until `uses.release()`. */
  async use(name: string, now: Date): Promise<void> {
    await this.prepare();
    this.uses.mark(name, now);
  }

  async find(name: string): Promise<EngineFinding> {
    const { [name]: note } = (await this.index.read()).links;
    return note === undefined ? { kind: 'absent' } : this.look(name, note);
  }

  /** The engine of this build, under any name; null when it is gone or its content has changed. */
  async findBuild(buildId: BuildId): Promise<CachedEngine | null> {
    for (const [name, note] of Object.entries((await this.index.read()).links)) {
      const found = note.buildId === buildId ? await this.look(name, note) : null;
      if (found?.kind === 'ready') return found.engine;
    }
    return null;
  }

  private async look(name: string, note: EngineNote): Promise<EngineFinding> {
    const path = this.pathOf(note.sha256);
    if (!existsSync(path)) return { kind: 'absent' };
    const isWhole = (await this.hashes.sha256Of(path)) === note.sha256;
    return isWhole ? { kind: 'ready', engine: { name, path, note } } : { kind: 'changed', note };
  }

  /**
   * Links the file of a finished build. Returns null if another process was faster: runs already use its engine. Also
   * null if no file has this content. After a kill, the next bench finds the file by its hash.
   */
  async link(note: EngineNote): Promise<CachedEngine | null> {
    const name = engineName(note.engineKey, note.number);
    return this.uses.tryHold(name, async () => {
      const found = await this.find(name);
      if (found.kind === 'ready' && found.engine.note.buildId !== note.buildId) return null;
      const path = this.pathOf(note.sha256);
      const leftovers = namesIn(this.folder).filter((entry) => entry.startsWith(name + BUILDING));
      const isThere = existsSync(path);
      for (const file of [path, ...leftovers.map((entry) => join(this.folder, entry))]) {
        if (file.endsWith(TIMING) || !existsSync(file)) continue;
        const { bytes, sha256 } = await sha256OfFile(file);
        if (sha256 !== note.sha256) continue;
        const whole = { ...note, flags: [...note.flags], bytes };
        await this.index.change((index) => {
          // Keep an existing whole file: an engine of another key with the same content may be in use.
          if (file !== path && (isThere || !existsSync(path))) renameSync(file, path);
          index.links[name] = engineNoteSchema.parse(whole);
        });
        return { name, path, note: whole };
      }
      return null;
    });
  }

  /** Links a copy of a given engine, because its file may be replaced or overwritten. */
  async linkCopy(path: string, note: EngineNote): Promise<void> {
    if (note.engineKey in (await this.index.read()).links) return;
    const copy = await this.temporaryPath(note.engineKey);
    await copyFile(path, copy, constants.COPYFILE_FICLONE);
    await this.link(note);
    await rm(copy, { force: true });
  }

  /** Adds the build ID to the name of an engine, so that the name is free for another build of the same key. */
  async relink({ name, note: { buildId }, path }: CachedEngine): Promise<string> {
    await this.index.change(({ links }) => {
      const { [name]: note } = links;
      if (note === undefined) return;
      links[`${name}@${buildId.slice(0, 8)}`] = note;
      delete links[name];
    });
    return path;
  }

  /** Null if the engine is being built or used. */
  async unlink(name: string): Promise<true | null> {
    return this.uses.tryHold(name, async (): Promise<true> => {
      await this.index.change((index) => {
        const { [name]: note } = index.links;
        delete index.links[name];
        delete index.pins[name];
        for (const [definition, frozen] of Object.entries(index.frozen)) {
          if (frozen.name === name) delete index.frozen[definition];
        }
        const isShared = Object.values(index.links).some(({ sha256 }) => sha256 === note?.sha256);
        if (note === undefined || isShared) return;
        for (const ending of ENDINGS) rmSync(join(this.folder, note.sha256 + ending), { force: true });
      });
      this.uses.forget(name);
      return true;
    });
  }

  /** For an engine whose bytes have changed: there is nothing to keep. */
  async unlinkChanged(name: string, { sha256 }: EngineNote): Promise<void> {
    await this.index.change(({ links }) => {
      rmSync(this.pathOf(sha256), { force: true });
      delete links[name];
    });
  }

  /** Unlinks the copies of given engines that no store compares with any more. */
  async unlinkGiven(storePath: string, lastGood: readonly BuildId[]): Promise<void> {
    await this.keepFor(storePath, lastGood);
    const { lastGood: wanted, links } = await this.index.read();
    const kept = new Set(Object.values(wanted).flat());
    for (const [name, note] of Object.entries(links)) {
      if (note.isGiven && !kept.has(note.buildId)) await this.unlink(name);
    }
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
    try {
      await makeOwnFolder(this.folder);
      await access(this.folder, constants.W_OK);
    } catch (error) {
      if (!['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))) throw error;
      throw new UsageError(`${printable(this.folder)} cannot be written: make it writable, or use another --db`, {
        cause: error,
      });
    }
  }

  pathOf(sha256: string): string {
    return join(this.folder, `${sha256}.plan`);
  }

  /** The content of the folder; the engines last used come first. */
  async contents({ hashes }: { readonly hashes: boolean }): Promise<EngineFolder> {
    const { folder } = this;
    const { frozen, links, pins } = await this.index.read();
    const names = namesIn(folder);
    const since = new Map(Object.values(frozen).map((each) => [each.name, each.since]));
    const engines: KeptEngine[] = [];
    for (const [name, note] of Object.entries(links)) {
      const { engineKey: key, flags, isGiven: _given, schemaVersion: _schema, variant: _variant, ...known } = note;
      const path = this.pathOf(note.sha256);
      engines.push({
        ...known,
        flags: [...flags],
        name,
        key,
        path,
        bytes: sizeOf(path),
        timingCacheBytes: sizeOf(join(folder, `${note.sha256}.cache`)),
        state: await this.stateOf(name, note, hashes),
        lastUsedAt: this.uses.lastUsed(name)?.toISOString() ?? null,
        pinnedAt: pins[name] ?? null,
        frozenSince: since.get(name) ?? null,
        usedBy: usersOf(folder, name, names),
      });
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
      lost: [...since].flatMap(([name, day]) => (name in links ? [] : [{ name, since: day }])),
    };
  }

  private async stateOf(name: string, note: EngineNote, hashes: boolean): Promise<KeptEngine['state']> {
    const path = this.pathOf(note.sha256);
    if (!existsSync(path)) return 'missing';
    if (!hashes) return sizeOf(path) === note.bytes ? 'unchecked' : 'changed';
    return (await this.look(name, note)).kind === 'ready' ? 'asBuilt' : 'changed';
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
