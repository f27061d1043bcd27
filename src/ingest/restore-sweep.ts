import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

import { isId, isInside, SWEEP_MANIFEST } from '../artefacts/layout.ts';
import { readPrunedNotes } from '../artefacts/pruned-note.ts';
import type { RunSource } from '../artefacts/run-source.ts';
import {
  readSweepManifest,
  type SweepManifest,
  writeSweepManifest,
} from '../artefacts/sweep-manifest.ts';
import { keyedCell } from '../domain/cell-key.ts';
import type { Sweep } from '../domain/sweep.ts';
import type { StoreDatabase } from '../store/open.ts';
import type { RunWriter } from '../store/save-run.ts';
import { findSweep, planOf, savePlannedCells, saveSweep } from '../store/sweeps.ts';
import { readStoredPlan } from './stored-plan.ts';

export interface RestoreContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  readonly artefactsFolder: string;
}

export interface FoundSweep {
  readonly manifest: SweepManifest;
  /** The folder that `sweep.json` lies in. */
  readonly path: string;
}

/** The sweeps under a path whose folders bear their ids and say what they are, also those that came to no run. */
export async function findSweepFolders(
  path: string,
  sources: readonly RunSource[],
): Promise<FoundSweep[]> {
  const parents = sources.map((source) => dirname(dirname(source.path)));
  const roots = new Set([path, ...parents.filter((parent) => isInside(path, parent))]);
  const folders = [path];
  for (const root of roots) {
    const names = await readdir(root).catch((): string[] => []);
    folders.push(...names.filter(isId).map((name) => join(root, name)));
  }
  const read = folders.map(async (folder): Promise<FoundSweep[]> => {
    const manifest = await readSweepManifest(join(folder, SWEEP_MANIFEST));
    if (manifest?.sweep.sweepId !== basename(resolve(folder))) return [];
    // A sweep whose artefacts were pruned is only in the store that it was in.
    return (await isPruned(folder)) ? [] : [{ manifest, path: folder }];
  });
  return (await Promise.all(read)).flat();
}

async function isPruned(sweepFolder: string): Promise<boolean> {
  return (await readPrunedNotes(sweepFolder)).length > 0;
}

/** Stores a sweep with its plan, from which it follows what was not measured; one that is stored stays as it is. */
export async function restoreSweep(
  { db, writer, artefactsFolder }: RestoreContext,
  { manifest: { sweep, plan }, path }: FoundSweep,
): Promise<Sweep> {
  const stored = findSweep(db, sweep.sweepId);
  if (stored === null) {
    saveSweep(db, sweep, plan);
    if (!isInside(artefactsFolder, path)) await writeSweepManifest(artefactsFolder, sweep, plan);
  }
  const known = readStoredPlan(planOf(db, sweep.sweepId))?.plan;
  // Of what was pruned nobody knows whether it had been measured.
  if (known !== undefined && !(await isPruned(path))) {
    const cells = known.cells.map(({ cell }) => keyedCell(cell));
    savePlannedCells({ db, writer }, sweep.sweepId, cells, known.repeats);
  }
  return stored ?? sweep;
}
