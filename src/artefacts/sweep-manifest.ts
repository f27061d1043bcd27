import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { readNoteText, writeAtomically } from './files.ts';
import { isLink, refuseLink } from './folders.ts';
import { sweepFolderOf, sweepManifestPath } from './layout.ts';
import { idSchema, isId } from '../records/scalars.ts';
import { type Sweep, sweepSchema } from '../records/sweep.ts';
import { withoutSecretEnv } from '../text/secret-name.ts';

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
export async function writeSweepManifest(
  artefactsFolder: string,
  { sweep, plan, importedAt }: SweepManifest,
): Promise<void> {
  const content = {
    schemaVersion: SWEEP_MANIFEST_VERSION,
    ...sweep,
    plan: plan ?? undefined,
    importedAt: importedAt ?? undefined,
  };
  refuseLink(sweepFolderOf(artefactsFolder, sweep.sweepId));
  await writeAtomically(sweepManifestPath(artefactsFolder, sweep.sweepId), `${JSON.stringify(content, null, 1)}\n`);
}

/** Null when there is none, or when it is damaged: the runs are there anyway. */
export async function readSweepManifest(path: string): Promise<SweepManifest | null> {
  const text = await readNoteText(path);
  if (text === null) return null;
  try {
    const { plan, importedAt, schemaVersion: _, ...sweep } = sweepManifestSchema.parse(JSON.parse(text));
    return { sweep, plan: withoutSecretEnv(plan ?? null), importedAt };
  } catch {
    return null;
  }
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
  await writeAtomically(join(sweepFolder, PRUNED_NOTE), `${JSON.stringify({ schemaVersion: 1, ...note }, null, 1)}\n`);
}

export async function readPrunedNotes(folder: string): Promise<PrunedNote[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const sweeps = names.filter(isId).map((name) => join(folder, name));
  const folders = [folder, ...sweeps.filter((path) => !isLink(path))];
  const notes = await Promise.all(folders.map((path) => readNote(join(path, PRUNED_NOTE))));
  return notes.filter((note) => note !== null);
}

async function readNote(path: string): Promise<PrunedNote | null> {
  try {
    return prunedNoteSchema.parse(JSON.parse((await readNoteText(path)) ?? ''));
  } catch {
    return null;
  }
}
