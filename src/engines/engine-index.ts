import { existsSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { errorCode, UsageError } from '../errors.ts';
import { writeNote } from '../files/files.ts';
import { makeOwnFolder, namesIn, readJson } from '../files/folders.ts';
import { type LockWait, acquire, lockHolder, tryAcquire } from '../process/lock.ts';
import { identityOf, identitySchema, isProbablyRunning, orNull } from '../process/process-identity.ts';
import { type Immutable, idSchema, sha256Schema } from '../records/scalars.ts';
import { PROVENANCES } from '../records/sweep.ts';
import { printable } from '../text/printable.ts';
import { variantRecord } from '../records/conversion.ts';

const textOrUnknown = z.string().nullable().default(null);
const numberOrUnknown = z.number().nullable().default(null);

export const engineNoteSchema = z.object({
  schemaVersion: z.literal(1),
  engineKey: idSchema,
  buildId: idSchema,
  sha256: sha256Schema,
  bytes: z.number().int(),
  /** Which of several builds of the same key, from 1. */
  number: z.number().int().min(1).default(1),
  model: textOrUnknown,
  precision: textOrUnknown,
  modelSha256: textOrUnknown,
  flags: z.array(z.string()).default([]),
  gpuName: textOrUnknown,
  computeCapability: textOrUnknown,
  /** The version of trtexec, and of the library that it loaded. */
  tensorrt: textOrUnknown,
  tensorrtLibrary: textOrUnknown,
  driver: textOrUnknown,
  provenance: z.enum(PROVENANCES).nullable().catch(null),
  builtAt: textOrUnknown,
  /** Build time as printed by trtexec, and wall time of the process. */
  buildS: numberOrUnknown,
  wallS: numberOrUnknown,
  /** The timing cache at the start of the build; null if it was empty. */
  timingCacheSha256: textOrUnknown,
  variant: variantRecord.nullable().default(null),
});

export type EngineNote = Immutable<z.infer<typeof engineNoteSchema>>;

/** The name has the key, and the number of the build if it is not 1. */
const frozenSchema = z.object({
  name: z.string().regex(/^[0-9a-f]{32}(?:-\d+)?(?:@[0-9a-f]{8})?$/),
  buildId: z.string(),
  since: z.string(),
});

const indexSchema = z.object({
  schemaVersion: z.literal(1),
  /** Facts by build, oldest first; in older folders by name. A file without an entry is not an engine. */
  links: z.record(z.string(), engineNoteSchema),
  /** Time of pinning, by the key of the link. */
  pins: z.record(z.string(), z.string()),
  /** The engine that represents a build definition, whatever else changes. */
  frozen: z.record(z.string(), frozenSchema),
  /** Builds with which a store may compare newer ones, by the path of the store. */
  lastGood: z.record(z.string(), z.array(idSchema)),
});

type Index = z.infer<typeof indexSchema>;

const INDEX = 'index.json';
/**
 * Extensions of the files that a build leaves: the engine, the timing cache at its end, and the note of that cache. The
 * hash of the engine names them.
 */
export const ENDINGS = ['.plan', '.cache', '.cache.json'] as const;

/**
 * `index.json`: the engines of a folder, and which of them may not be removed. It is read as a whole and written under
 * a lock.
 */
export class EngineIndex {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async read(): Promise<Immutable<Index>> {
    const hasOlder = !existsSync(join(this.folder, INDEX)) && olderNotes(this.folder).length > 0;
    if (hasOlder) await this.change(() => {});
    return this.now();
  }

  /** @param edit changes the index and the files that it names; if it throws, the index stays unchanged */
  async change<Result>(edit: (index: Index) => Promise<Result> | Result): Promise<Result> {
    return writing(this.folder, () => this.locked(edit));
  }

  private async locked<Result>(edit: (index: Index) => Promise<Result> | Result): Promise<Result> {
    await makeOwnFolder(this.folder);
    const waiting = { signal: new AbortController().signal, onWait: () => {} };
    const lock = await acquire(join(this.folder, 'index.lock'), waiting);
    try {
      const hasIndex = existsSync(join(this.folder, INDEX));
      const index = hasIndex ? this.now() : takenFromOlder(this.folder);
      const result = await edit(index);
      await writeNote(join(this.folder, INDEX), index);
      if (!hasIndex) for (const name of olderNotes(this.folder)) rmSync(join(this.folder, name), { force: true });
      return result;
    } finally {
      lock.release();
    }
  }

  private now(): Index {
    return readJson(join(this.folder, INDEX), indexSchema) ?? emptyIndex();
  }
}

/** @throws UsageError if the folder cannot be written */
export async function writing<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = errorCode(error);
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR'].includes(code)) throw error;
    throw new UsageError(`${printable(folder)} cannot be written (${code}): make it writable, or name another place`, {
      cause: error,
    });
  }
}

function emptyIndex(): Index {
  return { schemaVersion: 1, links: {}, pins: {}, frozen: {}, lastGood: {} };
}

/**
 * Files of the previous version, which kept a note for each engine: `KEY.plan`, `KEY.json`, `KEY.pin`, `frozen-…`,
 * `gone-…`.
 */
const OLDER = /^(?:([0-9a-f]{32}(?:-\d+)?(?:@[0-9a-f]{8})?)\.(json|pin)|(frozen|gone)-([0-9a-f]+)\.json)$/;

function olderNotes(folder: string): string[] {
  return namesIn(folder).filter((name) => OLDER.test(name));
}

/** Reads the notes of the previous version. Every engine keeps its name, so that nothing is built again. */
function takenFromOlder(folder: string): Index {
  const index = emptyIndex();
  for (const entry of olderNotes(folder)) {
    const [, name = '', ending, kind, id = ''] = OLDER.exec(entry) ?? [];
    const path = join(folder, entry);
    const note = ending === 'json' ? readJson(path, engineNoteSchema) : null;
    if (note !== null) {
      index.links[name] = note;
      for (const file of ENDINGS) {
        const from = join(folder, name + file);
        if (existsSync(from)) renameSync(from, join(folder, note.sha256 + file));
      }
    }
    const pinned = ending === 'pin' ? readJson(path, z.object({ pinnedAt: z.string() })) : null;
    if (pinned !== null) index.pins[name] = pinned.pinnedAt;
    const frozen = kind === 'frozen' ? readJson(path, frozenSchema) : null;
    if (frozen !== null) index.frozen[id] = frozen;
  }
  return index;
}

/** Fewer digits could be a typing mistake that removes an engine. */
const SHORTEST_NAME = 4;

/** Matches the start of a key or build ID; `KEY-2` for one of several builds. */
export function isNamed(stated: string, { engineKey, number, buildId }: EngineIdentity): boolean {
  const [, key = stated, wanted] = /^([^-]*)-(\d+)$/.exec(stated) ?? [];
  if (key.length < SHORTEST_NAME) return false;
  if (engineKey.startsWith(key)) return wanted === undefined || Number(wanted) === number;
  return wanted === undefined && buildId.startsWith(key);
}

export type EngineIdentity = Pick<EngineNote, 'buildId' | 'engineKey' | 'number'>;

/** Builds of one key and number share a name, under which they are built, used and locked. */
export function engineName({ engineKey, number }: Pick<EngineNote, 'engineKey' | 'number'>): string {
  return number === 1 ? engineKey : `${engineKey}-${number}`;
}

const LOCK = '.lock';
const USE = '.use-';
const USED = '.used';

/**
 * Who uses an engine now, and when it was last used. Each name has a lock, across processes and within this one. Marks
 * are empty files next to the engine, so that nothing is rewritten. A mark whose process has ended does not count.
 */
export class EngineUses {
  private readonly folder: string;
  private readonly held = new Set<string>();
  private readonly marked = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** @throws InterruptedError when the wait is interrupted */
  async hold<Result>(name: string, waiting: LockWait, work: () => Promise<Result>): Promise<Result> {
    const lock = await acquire(this.pathOf(name, LOCK), waiting);
    this.held.add(name);
    try {
      return await work();
    } finally {
      this.held.delete(name);
      lock.release();
    }
  }

  /** Null if the lock is taken. */
  async tryHold<Result>(name: string, work: () => Promise<Result>): Promise<Result | null> {
    if (this.held.has(name)) return work();
    const attempt = tryAcquire(this.pathOf(name, LOCK));
    if (attempt.kind !== 'taken') return null;
    try {
      return await work();
    } finally {
      attempt.lock.release();
    }
  }

  isHeld(name: string): boolean {
    return lockHolder(this.pathOf(name, LOCK)) !== null;
  }

  /** Call this before you look at the engine: from then on it is not removed. */
  mark(name: string, now: Date): void {
    if (this.marked.has(name)) return;
    this.marked.add(name);
    writeFileSync(this.pathOf(name, USE + process.pid), JSON.stringify(identityOf(process.pid)));
    writeFileSync(this.pathOf(name, USED), '');
    utimesSync(this.pathOf(name, USED), now, now);
  }

  release(): void {
    for (const name of this.marked) orNull(() => rmSync(this.pathOf(name, USE + process.pid), { force: true }));
    this.marked.clear();
  }

  forget(name: string): void {
    rmSync(this.pathOf(name, USED), { force: true });
  }

  lastUsed(name: string): Date | null {
    return statSync(this.pathOf(name, USED), { throwIfNoEntry: false })?.mtime ?? null;
  }

  private pathOf(name: string, ending: string): string {
    return join(this.folder, name + ending);
  }
}

export function usersOf(folder: string, name: string, names: readonly string[]): number[] {
  return names
    .filter((entry) => entry.startsWith(`${name}${USE}`))
    .flatMap((entry) => liveProcess(join(folder, entry)) ?? []);
}

export function removeStaleUses(folder: string): void {
  for (const entry of namesIn(folder)) {
    const path = join(folder, entry);
    if (entry.includes(USE) && liveProcess(path) === null) rmSync(path, { force: true });
  }
}

function liveProcess(path: string): number | null {
  const identity = readJson(path, identitySchema);
  return identity !== null && isProbablyRunning(identity) ? identity.pid : null;
}
