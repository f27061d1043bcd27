import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';

import { nameProblem } from './attachment.ts';
import { StoreError } from '../errors.ts';
import { isId, type RunId, type SweepId } from '../records/scalars.ts';
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

/** The folder of a run's attachments, next to the folder of its own files. */
export function attachedFolderOf(artefactsFolder: string, sweepId: SweepId, runId: RunId): string {
  return runFolderOf(artefactsFolder, sweepId, runId) + ATTACHED;
}

/** @throws StoreError if the name is not a plain file name */
export function attachedPathOf(
  artefactsFolder: string,
  { sweepId, runId, name }: { readonly sweepId: SweepId; readonly runId: RunId; readonly name: string },
): string {
  const problem = nameProblem(name);
  if (problem !== null) throw new StoreError(`attachment ${printable(name)}: ${problem}`);
  return join(attachedFolderOf(artefactsFolder, sweepId, runId), name);
}

export function runOfAttached(name: string): string | null {
  const runId = name.slice(0, -ATTACHED.length);
  return name.endsWith(ATTACHED) && isId(runId) ? runId : null;
}

const ATTACHED = '.attached';

export const SWEEP_MANIFEST = 'sweep.json';
export const RUN_MANIFEST = 'run.json';

export const ATTEMPT_PREFIX = '.attempt-';

/** Path of a file that is written first and then renamed. A kill can leave it behind. */
export function temporaryPath(path: string): string {
  return `${path}.tmp-${process.pid}`;
}

export function isTemporary(name: string): boolean {
  return /\.tmp-\d+$/.test(name);
}

export function isInside(folder: string, path: string): boolean {
  return `${resolve(path)}${sep}`.startsWith(`${resolve(folder)}${sep}`);
}

function checkedId(text: string): string {
  if (isId(text)) return text;
  throw new StoreError(`${printable(text.slice(0, 80))}: is no id, so that nothing is kept under it`);
}
