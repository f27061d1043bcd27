import { basename, dirname, join, resolve } from 'node:path';

import { isInside, SWEEP_MANIFEST, sweepManifestPath } from '../../files/layout.ts';
import { isId, type SweepId } from '../../records/scalars.ts';
import { isLink, namesIn, readJson } from '../../files/folders.ts';
import {
  FINDINGS_FILE,
  type SweepManifest,
  sweepManifestSchema,
  writeSweepManifest,
} from '../../artefacts/sweep-notes.ts';
import { findingsFileSchema } from '../../records/finding.ts';
import type { RunSource } from '../../artefacts/read/discover.ts';
import { keyedCell } from '../../records/cell.ts';
import { UsageError } from '../../errors.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { RunWriter } from '../../store/runs/save-run.ts';
import { findSweep, planOf, savePlannedCells, saveSweep } from '../../store/sweeps/sweeps.ts';
import { nextImportTime, saveImportTime, restoreFindings } from '../../store/sweeps/imports.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { withoutSecretEnv } from '../../text/redact.ts';

export interface RestoreContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  readonly artefactsFolder: string;
  readonly now: () => Date;
}

export type FoundSweep = ReturnType<typeof findSweepFolders>[number];

/** Sweeps under a path, found by folders named after their IDs; includes sweeps without runs. */
export function findSweepFolders(path: string, sources: readonly RunSource[]) {
  const parents = sources.map((source) => dirname(dirname(source.path)));
  const roots = new Set([path, ...parents.filter((parent) => isInside(path, parent))]);
  const inner = [...roots].flatMap((root) =>
    namesIn(root)
      .filter(isId)
      .map((name) => join(root, name)),
  );
  const folders = [path, ...inner.filter((folder) => !isLink(folder))];
  return folders.flatMap((folder) => {
    const manifest = readSweepManifest(join(folder, SWEEP_MANIFEST));
    return manifest?.sweep.sweepId === basename(resolve(folder)) ? [{ manifest, path: folder }] : [];
  });
}

/**
 * Stores a sweep with its plan, so that unmeasured cells are known. A stored sweep stays unchanged.
 * @throws UsageError when another sweep has its ID, in the store or among the artefacts
 */
export async function restoreSweep(
  { db, writer, artefactsFolder, now }: RestoreContext,
  { manifest, path }: FoundSweep,
): Promise<Sweep> {
  const { sweep, plan } = manifest;
  const stored = findSweep(db, sweep.sweepId);
  const isOwn = isInside(artefactsFolder, path);
  // The folder may be all that is left of the sweep.
  const left = readSweepManifest(sweepManifestPath(artefactsFolder, sweep.sweepId));
  const there = stored ?? left?.sweep ?? null;
  if (!isOwn && there !== null) refuseOtherSweep(sweep, there, path);
  if (stored === null) {
    saveSweep(db, sweep, plan);
    const importedAt = sweep.source === 'run' ? null : (manifest.importedAt ?? nextImportTime(db, now()));
    if (importedAt !== null) saveImportTime(db, sweep.sweepId, importedAt);
    if (!isOwn && there === null) await writeSweepManifest(artefactsFolder, { sweep, plan, importedAt });
  }
  const known = readStoredPlan(planOf(db, sweep.sweepId))?.plan;
  if (known !== undefined) {
    const cells = known.cells.map(({ cell }) => keyedCell(cell));
    savePlannedCells({ db, writer }, sweep.sweepId, cells, known.repeats);
  }
  return stored ?? sweep;
}

/** The error for a run that may not join a sweep. */
export function otherSweep(path: string, { sweepId }: Sweep): UsageError {
  const there = `${path} has the id of sweep ${sweepId.slice(0, 8)}, which is already here`;
  return new UsageError(`${there}, but not the same sweep.json; import it into a separate store (--db)`);
}

/** @throws UsageError when the `sweep.json` of a folder differs from the existing sweep of the same ID */
export function refuseOtherSweep(stated: Sweep, there: Sweep, path: string): void {
  const areImports = stated.source === 'import' && there.source === 'import';
  const isSame = areImports ? stated.provenance === there.provenance : settledOf(stated) === settledOf(there);
  if (!isSame) throw otherSweep(path, stated);
}

function settledOf(sweep: Sweep): string {
  const { source, matrix, provenance, startedAt, commit, seed, host, toolVersion } = sweep;
  return JSON.stringify([source, matrix, provenance, startedAt, commit, seed, host, toolVersion]);
}

/** Null when the file is missing or damaged: the runs can be read without it. */
export function readSweepManifest(path: string): SweepManifest | null {
  const note = readJson(path, sweepManifestSchema);
  if (note === null) return null;
  const { plan, importedAt, schemaVersion: _, ...sweep } = note;
  return { sweep, plan: withoutSecretEnv(plan ?? null), importedAt };
}

/**
 * Call this after all sweeps are in the store, because a finding refers to several. Keeps findings that are already
 * stored. Returns the sweeps that have findings.
 */
export function readFindings(db: StoreDatabase, sweepFolders: readonly FoundSweep[]): SweepId[] {
  // Skips damaged files: the results do not depend on them.
  const files = sweepFolders.flatMap(({ path }) => readJson(join(path, FINDINGS_FILE), findingsFileSchema) ?? []);
  for (const file of files) restoreFindings(db, file);
  return files.map(({ sweepId }) => sweepId);
}
