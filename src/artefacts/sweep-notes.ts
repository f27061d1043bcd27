import { existsSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../files/files.ts';
import { refuseLink } from '../files/folders.ts';
import { sweepFolderOf, sweepManifestPath } from '../files/layout.ts';
import type { FindingsFile } from '../records/finding.ts';
import type { SweepId } from '../records/scalars.ts';
import { type Sweep, sweepSchema } from '../records/sweep.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { acknowledgementsOf, findingsReportedIn, judgedAmong } from '../store/sweeps/findings.ts';

const SWEEP_MANIFEST_VERSION = 1;

export const sweepManifestSchema = sweepSchema.extend({
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

export const FINDINGS_FILE = 'findings.json';

/**
 * Writes findings and acknowledgements next to the artefacts of their sweeps, so that a store can be rebuilt from the
 * artefacts.
 */
export async function writeFindings(db: StoreDatabase, artefactsFolder: string, sweepIds: readonly SweepId[]) {
  const kept = [...new Set(sweepIds)].filter((sweepId) => existsSync(sweepFolderOf(artefactsFolder, sweepId)));
  const judged = judgedAmong(db, kept);
  const bySweep = Map.groupBy(findingsReportedIn(db, kept), ({ reportedSweepId }) => reportedSweepId);
  for (const sweepId of kept) {
    const findings = bySweep.get(sweepId) ?? [];
    const ids = findings.map(({ findingId }) => findingId);
    const acknowledgements = [...acknowledgementsOf(db, ids).values()];
    const about = { schemaVersion: 2 as const, sweepId, judged: judged.get(sweepId) ?? null };
    const file: FindingsFile = { ...about, findings, acknowledgements };
    const folder = sweepFolderOf(artefactsFolder, sweepId);
    const path = join(folder, FINDINGS_FILE);
    if (file.judged === null && findings.length === 0 && !existsSync(path)) continue;
    refuseLink(folder);
    await writeNote(path, file);
  }
}
