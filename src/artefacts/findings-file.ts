import { existsSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../files/files.ts';
import { readJson, refuseLink } from '../files/folders.ts';
import { sweepFolderOf } from '../files/layout.ts';
import { acknowledgementSchema, findingSchema, judgedSweepSchema } from '../records/finding.ts';
import { idSchema, type Immutable, type SweepId } from '../records/scalars.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { acknowledgementsOf, findingsReportedIn, judgedAmong, restoreFindings } from '../store/sweeps/findings.ts';

const FINDINGS_FILE = 'findings.json';

const MAX_FINDINGS = 10_000;

const findingsFileSchema = z.object({
  schemaVersion: z.literal(2),
  sweepId: idSchema,
  judged: judgedSweepSchema.nullable(),
  /** Findings reported in this sweep, in their current state. */
  findings: z.array(findingSchema).max(MAX_FINDINGS),
  acknowledgements: z.array(acknowledgementSchema).max(MAX_FINDINGS),
});

type FindingsFile = Immutable<z.infer<typeof findingsFileSchema>>;

/**
 * Writes findings and acknowledgements next to the artefacts of their sweeps, so that a store can be rebuilt from the
 * artefacts.
 */
export async function writeFindings(
  db: StoreDatabase,
  artefactsFolder: string,
  sweepIds: readonly SweepId[],
): Promise<void> {
  const kept = [...new Set(sweepIds)].filter((sweepId) => existsSync(sweepFolderOf(artefactsFolder, sweepId)));
  const judged = judgedAmong(db, kept);
  const bySweep = Map.groupBy(findingsReportedIn(db, kept), ({ reportedSweepId }) => reportedSweepId);
  for (const sweepId of kept) {
    const findings = bySweep.get(sweepId) ?? [];
    const marks = acknowledgementsOf(
      db,
      findings.map(({ findingId }) => findingId),
    );
    const about = { schemaVersion: 2 as const, sweepId, judged: judged.get(sweepId) ?? null };
    const file: FindingsFile = { ...about, findings, acknowledgements: [...marks.values()] };
    const folder = sweepFolderOf(artefactsFolder, sweepId);
    const path = join(folder, FINDINGS_FILE);
    if (file.judged === null && findings.length === 0 && !existsSync(path)) continue;
    refuseLink(folder);
    await writeNote(path, file);
  }
}

/**
 * Call this after all sweeps are in the store, because a finding refers to several. Keeps findings that are already
 * stored. Returns the sweeps that have findings.
 */
export function readFindings(db: StoreDatabase, sweepFolders: readonly { readonly path: string }[]): SweepId[] {
  // Skips damaged files: the results do not depend on them.
  const files = sweepFolders.flatMap(({ path }) => readJson(join(path, FINDINGS_FILE), findingsFileSchema) ?? []);
  for (const file of files) restoreFindings(db, file);
  return files.map(({ sweepId }) => sweepId);
}

/** Reads findings into the store and also writes them next to the artefacts here. */
export async function takeFindings(
  db: StoreDatabase,
  sweepFolders: readonly { readonly path: string }[],
  artefactsFolder: string,
): Promise<void> {
  await writeFindings(db, artefactsFolder, readFindings(db, sweepFolders));
}
