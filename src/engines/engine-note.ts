import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../artefacts/files.ts';
import { namesIn, readJson } from '../artefacts/folders.ts';
import { idSchema, type Immutable } from '../records/scalars.ts';
import { PROVENANCES } from '../records/sweep.ts';
import { variantRecord } from '../variants/conversion.ts';

const textOrUnknown = z.string().nullable().default(null);
const numberOrUnknown = z.number().nullable().default(null);

/** What lies next to each engine as `KEY.json`: without it the engine is not there. */
export const engineNoteSchema = z.object({
  schemaVersion: z.literal(1),
  engineKey: idSchema,
  buildId: idSchema,
  sha256: z.string(),
  bytes: z.number().int(),
  /** Which of several builds of the same key, from 1. */
  number: z.number().int().min(1).default(1),
  model: textOrUnknown,
  precision: textOrUnknown,
  modelSha256: textOrUnknown,
  flags: z.array(z.string()).default([]),
  gpuName: textOrUnknown,
  computeCapability: textOrUnknown,
  /** Versions of trtexec, and of the library that it loaded. */
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
  /** A copy of a file that the matrix names; its key is the start of its hash. */
  isGiven: z.boolean().default(false),
});

export type EngineNote = Immutable<z.infer<typeof engineNoteSchema>>;

export function readEngineNote(path: string): EngineNote | null {
  return readJson(path, engineNoteSchema);
}

/** Key, the build number if not 1, and the build if another one has taken its place. */
export const ENGINE_NAME = /^[0-9a-f]{32}(?:-\d+)?(?:@[0-9a-f]{8})?$/;

/** Of all engines in a folder, with their names. */
export function notesIn(folder: string): { readonly name: string; readonly note: EngineNote }[] {
  return namesIn(folder).flatMap((entry) => {
    const name = entry.replace(/\.json$/, '');
    const note = name === entry || !ENGINE_NAME.test(name) ? null : readEngineNote(join(folder, entry));
    return note === null ? [] : [{ name, note }];
  });
}

/** Fewer digits could be a slip that removes something. */
const SHORTEST_NAME = 4;

/** By the start of its key or build id; `KEY-2` for one of several builds. */
export function isNamed(stated: string, name: string, buildId: string): boolean {
  const [, key = stated, number] = /^([^-]*)-(\d+)$/.exec(stated) ?? [];
  if (key.length < SHORTEST_NAME) return false;
  const [ownKey = '', ownNumber = '1'] = name.replace(/@.*/, '').split('-');
  const isKey = ownKey.startsWith(key) && (number === undefined || number === ownNumber);
  return isKey || (number === undefined && buildId.startsWith(key));
}

/** Those of a folder that a key names. */
export function enginesNamed(folder: string, stated: string) {
  return notesIn(folder).filter(({ name, note }) => isNamed(stated, name, note.buildId));
}

export function engineName(engineKey: string, number: number): string {
  return number === 1 ? engineKey : `${engineKey}-${number}`;
}

const frozenSchema = z.object({
  schemaVersion: z.literal(1),
  name: z.string().regex(ENGINE_NAME),
  buildId: z.string(),
  sha256: z.string(),
  since: z.string(),
});

/** Which engine represents a build definition, whatever else changes. */
type FrozenEngine = z.infer<typeof frozenSchema>;

const FROZEN = 'frozen-';

export class FrozenEngines {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** @param definition hash of the model's name, its precision and its build flags */
  find(definition: string): FrozenEngine | null {
    return readJson(this.pathOf(definition), frozenSchema);
  }

  async freeze(definition: string, engine: Omit<FrozenEngine, 'schemaVersion'>): Promise<void> {
    await writeNote(this.pathOf(definition), { schemaVersion: 1, ...engine });
  }

  all(): FrozenEngine[] {
    return this.entries().map(({ frozen }) => frozen);
  }

  async thaw(name: string): Promise<number> {
    const found = this.entries().filter(({ frozen }) => frozen.name === name);
    for (const { path } of found) await rm(path, { force: true });
    return found.length;
  }

  private entries(): { readonly path: string; readonly frozen: FrozenEngine }[] {
    return namesIn(this.folder)
      .filter((entry) => entry.startsWith(FROZEN) && entry.endsWith('.json'))
      .flatMap((entry) => {
        const path = join(this.folder, entry);
        const frozen = readJson(path, frozenSchema);
        return frozen === null ? [] : [{ path, frozen }];
      });
  }

  private pathOf(definition: string): string {
    return join(this.folder, `${FROZEN}${definition}.json`);
  }
}
