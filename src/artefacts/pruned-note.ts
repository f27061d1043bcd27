import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { readNoteText, writeAtomically } from './files.ts';
import { idSchema } from '../records/scalars.ts';
import { isId } from '../records/scalars.ts';
import { isLink, refuseLink } from './own-folder.ts';

const PRUNED_NOTE = 'pruned.json';

const prunedNoteSchema = z.object({
  schemaVersion: z.literal(1),
  sweepId: idSchema,
  runIds: z.array(idSchema).readonly(),
});

export type PrunedNote = z.infer<typeof prunedNoteSchema>;

/** Says in the folder of a sweep which of its runs were here: a store that is rebuilt from artefacts lacks them. */
export async function writePrunedNote(sweepFolder: string, note: Omit<PrunedNote, 'schemaVersion'>): Promise<void> {
  refuseLink(sweepFolder);
  await writeAtomically(join(sweepFolder, PRUNED_NOTE), `${JSON.stringify({ schemaVersion: 1, ...note }, null, 1)}\n`);
}

/** The notes in a folder of artefacts, or of one sweep. */
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
