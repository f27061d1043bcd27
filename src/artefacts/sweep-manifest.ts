import * as z from 'zod';

import { withoutSecretEnv } from '../text/secret-name.ts';
import { type Sweep, sweepSchema } from '../records/sweep.ts';
import { readNoteText, writeAtomically } from './files.ts';
import { sweepFolderOf, sweepManifestPath } from './layout.ts';
import { refuseLink } from './own-folder.ts';

const SWEEP_MANIFEST_VERSION = 1;

const sweepManifestSchema = sweepSchema.extend({
  schemaVersion: z.literal(SWEEP_MANIFEST_VERSION),
  plan: z.unknown().optional(),
  importedAt: z.string().nullable().default(null),
});

export interface SweepManifest {
  readonly sweep: Sweep;
  readonly plan: unknown;
  /** When it was imported, which is the order of sweeps without a date; null for one that was run. */
  readonly importedAt: string | null;
}

/** `sweep.json`: what the store knows of a sweep, so that it can be restored from the artefacts alone. */
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

/** Null when there is none, or when it is damaged: the runs are there all the same. */
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
