import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

import { StoreError } from '../errors.ts';
import { type RunId, type SweepId, isId } from '../records/scalars.ts';
import { printable } from '../text/printable.ts';

/** Output of processes lies next to the store, so that the store can be rebuilt from it. */
export function artefactsFolderOf(storePath: string): string {
  return join(dirname(storePath), 'artefacts');
}

/** Artefacts of sweeps that `bench db rm` removed. They lie next to the others, on the same disk. */
export function removedFolderOf(artefactsFolder: string): string {
  const real = existsSync(artefactsFolder) ? realpathSync(artefactsFolder) : artefactsFolder;
  return join(dirname(real), 'removed');
}

/** The cache of built engines, also next to the store. */
export function enginesFolderOf(storePath: string): string {
  return join(dirname(storePath), 'engines');
}

/**
 * Only ids become part of a path, never the name of a model, branch or file.
 * @throws StoreError for anything else
 */
export function sweepFolderOf(artefactsFolder: string, sweepId: SweepId): string {
  return join(artefactsFolder, checkedId(sweepId));
}

/** @throws StoreError if an id is invalid */
export function runFolderOf(artefactsFolder: string, sweepId: SweepId, runId: RunId): string {
  return join(sweepFolderOf(artefactsFolder, sweepId), checkedId(runId));
}

export function sweepManifestPath(artefactsFolder: string, sweepId: SweepId): string {
  return join(sweepFolderOf(artefactsFolder, sweepId), SWEEP_MANIFEST);
}

export function runOfAttached(name: string): string | null {
  const runId = name.slice(0, -ATTACHED.length);
  return name.endsWith(ATTACHED) && isId(runId) ? runId : null;
}

export const ATTACHED = '.attached';

export const SWEEP_MANIFEST = 'sweep.json';
export const RUN_MANIFEST = 'run.json';

export const ATTEMPT_PREFIX = '.attempt-';

/** Whether bench named a folder: then everything in the folder of a run belongs to it. */
export function hasOwnName(folder: string): boolean {
  return isId(basename(resolve(folder)).replace(ATTEMPT_PREFIX, ''));
}

let temporaryPaths = 0;

/** Path of a file that is written first and then renamed. A kill can leave it behind. */
export function temporaryPath(path: string): string {
  temporaryPaths += 1;
  return `${path}.tmp-${process.pid}-${temporaryPaths}`;
}

export function isTemporary(name: string): boolean {
  return /\.tmp-\d+(?:-\d+)?$/.test(name);
}

export function isInside(folder: string, path: string): boolean {
  const base = resolve(folder);
  return `${resolve(path)}${sep}`.startsWith(base.endsWith(sep) ? base : `${base}${sep}`);
}

function checkedId(text: string): string {
  if (isId(text)) return text;
  throw new StoreError(`${printable(text.slice(0, 80))} is not an id, so bench keeps nothing under it`);
}
