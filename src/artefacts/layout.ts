import { dirname, join, resolve, sep } from 'node:path';

/** Everything that processes print and write lies beside the store, so that the store can be rebuilt from it. */
export function artefactsFolderOf(storePath: string): string {
  return join(dirname(storePath), 'artefacts');
}

/** Names are ids only: nothing from a model, a branch or a file becomes part of a path. */
export function runFolderOf(artefactsFolder: string, sweepId: string, runId: string): string {
  return join(artefactsFolder, sweepId, runId);
}

export function sweepManifestPath(artefactsFolder: string, sweepId: string): string {
  return join(artefactsFolder, sweepId, SWEEP_MANIFEST);
}

/** Beside the run's own files, which it left itself: what people attached to it. */
export function attachedFolderOf(artefactsFolder: string, sweepId: string, runId: string): string {
  return join(artefactsFolder, sweepId, runId + ATTACHED);
}

/** The run of a folder of attachments, by its name; null for any other folder. */
export function runOfAttached(name: string): string | null {
  const runId = name.slice(0, -ATTACHED.length);
  return name.endsWith(ATTACHED) && isId(runId) ? runId : null;
}

const ATTACHED = '.attached';

export const SWEEP_MANIFEST = 'sweep.json';
export const RUN_MANIFEST = 'run.json';

/** A run that is not finished works in a folder of this beginning. */
export const ATTEMPT_PREFIX = '.attempt-';

/** Where a file or folder is written before it is renamed to its name; a kill can leave it behind. */
export function temporaryPath(path: string): string {
  return `${path}.tmp-${process.pid}`;
}

export function isTemporary(name: string): boolean {
  return /\.tmp-\d+$/.test(name);
}

/** Whether a path lies in a folder, or is it. */
export function isInside(folder: string, path: string): boolean {
  return `${resolve(path)}${sep}`.startsWith(`${resolve(folder)}${sep}`);
}

/** Ids become folder names: nothing else may stand in them. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}
