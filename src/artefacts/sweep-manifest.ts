import { join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../files/files.ts';
import { isLink, namesIn, readJson, refuseLink } from '../files/folders.ts';
import { sweepFolderOf, sweepManifestPath } from '../files/layout.ts';
import { idSchema, isId } from '../records/scalars.ts';
import { type Sweep, sweepSchema } from '../records/sweep.ts';
import { withoutSecretEnv } from '../text/redact.ts';

const SWEEP_MANIFEST_VERSION = 1;

const sweepManifestSchema = sweepSchema.extend({
  schemaVersion: z.literal(SWEEP_MANIFEST_VERSION),
  plan: z.unknown().optional(),
  importedAt: z.string().nullable().default(null),
});

export interface SweepManifest {
  readonly sweep: Sweep;
  readonly plan: unknown;
  /** Import time, which orders sweeps without a date; null for a sweep that bench ran. */
  readonly importedAt: string | null;
}

/** `sweep.json`: the store's record of a sweep, to restore it from the artefacts. */
export async function writeSweepManifest(artefactsFolder: string, manifest: SweepManifest): Promise<void> {
  const { sweep, plan, importedAt } = manifest;
  const others = { plan: plan ?? undefined, importedAt: importedAt ?? undefined };
  const content = { schemaVersion: SWEEP_MANIFEST_VERSION, ...sweep, ...others };
  refuseLink(sweepFolderOf(artefactsFolder, sweep.sweepId));
  await writeNote(sweepManifestPath(artefactsFolder, sweep.sweepId), content);
}

/** Null when the file is missing or damaged: the runs can be read without it. */
export function readSweepManifest(path: string): SweepManifest | null {
  const note = readJson(path, sweepManifestSchema);
  if (note === null) return null;
  const { plan, importedAt, schemaVersion: _, ...sweep } = note;
  return { sweep, plan: withoutSecretEnv(plan ?? null), importedAt };
}

const PRUNED_NOTE = 'pruned.json';

const prunedNoteSchema = z.object({
  schemaVersion: z.literal(1),
  sweepId: idSchema,
  runIds: z.array(idSchema).readonly(),
});

type PrunedNote = z.infer<typeof prunedNoteSchema>;

/** Records in a sweep's folder which runs were pruned: a store rebuilt from artefacts lacks them. */
export async function writePrunedNote(sweepFolder: string, note: Omit<PrunedNote, 'schemaVersion'>): Promise<void> {
  refuseLink(sweepFolder);
  await writeNote(join(sweepFolder, PRUNED_NOTE), { schemaVersion: 1, ...note });
}

export function readPrunedNotes(folder: string): PrunedNote[] {
  const sweeps = namesIn(folder).filter(isId);
  const folders = [folder, ...sweeps.map((name) => join(folder, name)).filter((path) => !isLink(path))];
  return folders.flatMap((path) => readJson(join(path, PRUNED_NOTE), prunedNoteSchema) ?? []);
}
