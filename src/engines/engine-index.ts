import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { errorCode, UsageError } from '../errors.ts';
import { writeNote } from '../files/files.ts';
import { makeOwnFolder, namesIn, readJson } from '../files/folders.ts';
import { acquire } from '../process/lock.ts';
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
  /** Facts by build, oldest first. A file without an entry is not an engine. */
  links: z.record(z.string(), engineNoteSchema).prefault({}),
  /** Time of pinning, by build. */
  pins: z.record(z.string(), z.string()).prefault({}),
  /** The engine that represents a build definition, whatever else changes. */
  frozen: z.record(z.string(), frozenSchema).prefault({}),
  /** Builds with which a store may compare newer ones, by the path of the store. */
  lastGood: z.record(z.string(), z.array(idSchema)).prefault({}),
});

type Index = z.infer<typeof indexSchema>;

/**
 * Extensions of the files that a build leaves: the engine, the timing cache at its end, and the note of that cache. The
 * hash of the engine names them.
 */
export const ENDINGS = ['.plan', '.cache', '.cache.json'] as const;

/**
 * `index.json`: the engines of a folder, and which of them may not be removed. It is read as a whole and written under
 * a lock.
 */
export function engineIndex(folder: string) {
  const path = join(folder, 'index.json');
  const now = (): Index => readJson(path, indexSchema) ?? indexSchema.parse({ schemaVersion: 1 });
  // Notes of the previous version; none once there is an index.
  const olderNotes = (): string[] => (existsSync(path) ? [] : namesIn(folder).filter((name) => OLDER.test(name)));

  /** @param edit changes the index and the files that it names; if it throws, the index stays unchanged */
  const change = (edit: (index: Index) => void): Promise<void> =>
    writing(folder, async () => {
      await makeOwnFolder(folder);
      const waiting = { signal: new AbortController().signal, onWait: () => {} };
      const lock = await acquire(join(folder, 'index.lock'), waiting);
      try {
        const older = olderNotes();
        const index = older.length === 0 ? now() : takenFromOlder(folder, older);
        edit(index);
        await writeNote(path, index);
        for (const name of older) rmSync(join(folder, name), { force: true });
      } finally {
        lock.release();
      }
    });

  const read = async (): Promise<Immutable<Index>> => {
    if (olderNotes().length > 0) await change(() => {});
    return now();
  };
  return { change, read };
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

/**
 * Files of the previous version, which kept a note for each engine: `KEY.plan`, `KEY.json`, `KEY.pin`, `frozen-…`,
 * `gone-…`.
 */
const OLDER = /^(?:([0-9a-f]{32}(?:-\d+)?(?:@[0-9a-f]{8})?)\.(json|pin)|(frozen|gone)-([0-9a-f]+)\.json)$/;

/** Reads the notes of the previous version. Every engine keeps its name, so that nothing is built again. */
function takenFromOlder(folder: string, older: readonly string[]): Index {
  const index = indexSchema.parse({ schemaVersion: 1 });
  for (const entry of older) {
    const [, name = '', ending, kind, id = ''] = OLDER.exec(entry) ?? [];
    const path = join(folder, entry);
    const note = ending === 'json' ? readJson(path, engineNoteSchema) : null;
    if (note !== null) {
      index.links[note.buildId] = note;
      const pinned = readJson(join(folder, `${name}.pin`), z.object({ pinnedAt: z.string() }));
      if (pinned !== null) index.pins[note.buildId] = pinned.pinnedAt;
      for (const file of ENDINGS) {
        const from = join(folder, name + file);
        if (existsSync(from)) renameSync(from, join(folder, note.sha256 + file));
      }
    }
    const kept = kind === 'frozen' ? readJson(path, frozenSchema) : null;
    if (kept !== null) index.frozen[id] = kept;
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
