import { readFileSync } from 'node:fs';

import * as z from 'zod';

import { PROVENANCES } from '../records/provenance.ts';
import { idSchema, type Immutable } from '../records/scalars.ts';
import { variantRecord } from '../variants/conversion.ts';

const text = z.string().nullable().default(null);
const amount = z.number().nullable().default(null);

/** What lies beside each engine as `KEY.json`: without it the engine is not there. */
export const engineNoteSchema = z.object({
  schemaVersion: z.literal(1),
  engineKey: idSchema,
  /** Tells two builds of the same key apart. */
  buildId: idSchema,
  sha256: z.string(),
  bytes: z.number().int(),
  /** Which of several builds of the same key, from 1. */
  number: z.number().int().min(1).default(1),
  model: text,
  precision: text,
  modelSha256: text,
  flags: z.array(z.string()).default([]),
  gpuName: text,
  computeCapability: text,
  /** Version of trtexec, and of the library that it loaded. */
  tensorrt: text,
  tensorrtLibrary: text,
  driver: text,
  provenance: z.enum(PROVENANCES).nullable().catch(null),
  /** When the process that built it was started. */
  builtAt: text,
  /** What trtexec says that the build took, and what its process took. */
  buildS: amount,
  wallS: amount,
  /** The timing cache that the build began with; null when it began with none. */
  timingCacheSha256: text,
  /** What it was made from, when that was converted. */
  variant: variantRecord.nullable().default(null),
});

export type EngineNote = Immutable<z.infer<typeof engineNoteSchema>>;

/** The note of an engine; null when there is none that can be read. */
export function readEngineNote(path: string): EngineNote | null {
  try {
    return engineNoteSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

/** Of the files of an engine: its key, and which of several builds it is. */
export const ENGINE_NAME = /^[0-9a-f]{32}(?:-\d+)?$/;

/** Name of the files of an engine: the first build of a key is named by the key alone. */
export function engineName(engineKey: string, number: number): string {
  return number === 1 ? engineKey : `${engineKey}-${number}`;
}
