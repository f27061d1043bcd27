import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../artefacts/files.ts';
import { makeOwnFolder, namesIn, readJson } from '../artefacts/folders.ts';
import { errorCode } from '../errors.ts';
import { acquire } from '../process/lock.ts';
import { idSchema, type Immutable, sha256Schema } from '../records/scalars.ts';
import { PROVENANCES } from '../records/sweep.ts';
import { variantRecord } from '../variants/conversion.ts';

const textOrUnknown = z.string().nullable().default(null);
const numberOrUnknown = z.number().nullable().default(null);

/** Facts about an engine. */
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
  /** A copy of a file that the matrix names. Its key is the start of its hash. */
  isGiven: z.boolean().default(false),
});

export type EngineNote = Immutable<z.infer<typeof engineNoteSchema>>;

/** Key, the build number if not 1, and the build ID if another build has taken its place. */
const ENGINE_NAME = /^[0-9a-f]{32}(?:-\d+)?(?:@[0-9a-f]{8})?$/;

const frozenSchema = z.object({ name: z.string().regex(ENGINE_NAME), buildId: z.string(), since: z.string() });

const indexSchema = z.object({
  schemaVersion: z.literal(1),
  /** Facts by engine name. A file without an entry is not an engine. */
  links: z.record(z.string().regex(ENGINE_NAME), engineNoteSchema),
  /** Time of pinning, by name. */
  pins: z.record(z.string(), z.string()),
  /** The engine that represents a build definition, whatever else changes. */
  frozen: z.record(z.string(), frozenSchema),
  /** Time of removal, by build. */
  gone: z.record(z.string(), z.string()),
  /** By the path of a store: builds with which it may compare newer ones. */
  lastGood: z.record(z.string(), z.array(idSchema)),
});

type Index = z.infer<typeof indexSchema>;

const NOT_WRITABLE = ['EACCES', 'EPERM', 'EROFS'];

export function isNotWritable(error: unknown): boolean {
  return NOT_WRITABLE.includes(errorCode(error));
}

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
    if (hasOlder) await this.change(() => {}).catch(ignoreReadOnly);
    return this.now();
  }

  /** @param edit changes the index and the files that it names; if it throws, the index stays unchanged */
  async change<Result>(edit: (index: Index) => Promise<Result> | Result): Promise<Result> {
    await makeOwnFolder(this.folder);
    const lock = await acquire(join(this.folder, 'index.lock'), {
      signal: new AbortController().signal,
      onWait: () => {},
    });
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
    return (
      readJson(join(this.folder, INDEX), indexSchema) ?? {
        schemaVersion: 1,
        links: {},
        pins: {},
        frozen: {},
        gone: {},
        lastGood: {},
      }
    );
  }
}

export function ignoreReadOnly(error: unknown): void {
  if (!isNotWritable(error)) throw error;
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
  const index: Index = { schemaVersion: 1, links: {}, pins: {}, frozen: {}, gone: {}, lastGood: {} };
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
    const gone = kind === 'gone' ? readJson(path, z.object({ goneAt: z.string() })) : null;
    if (gone !== null) index.gone[id] = gone.goneAt;
  }
  return index;
}

/** Fewer digits could be a typing mistake that removes an engine. */
const SHORTEST_NAME = 4;

/** Matches the start of a key or build ID; `KEY-2` for one of several builds. */
export function isNamed(stated: string, name: string, buildId: string): boolean {
  const [, key = stated, number] = /^([^-]*)-(\d+)$/.exec(stated) ?? [];
  if (key.length < SHORTEST_NAME) return false;
  const [ownKey = '', ownNumber = '1'] = name.replace(/@.*/, '').split('-');
  const isKey = ownKey.startsWith(key) && (number === undefined || number === ownNumber);
  return isKey || (number === undefined && buildId.startsWith(key));
}

export function engineName(engineKey: string, number: number): string {
  return number === 1 ? engineKey : `${engineKey}-${number}`;
}
