import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';

import * as z from 'zod';

import { StoreError } from '../errors.ts';
import { count, id, instant } from '../records/output-parts.ts';
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

export const ATTACHMENT_KINDS = ['nsysReport', 'nsysExport', 'ncuReport', 'json', 'text', 'other'] as const;

type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/** A file that somebody attached to a run. It does not affect the numbers of the run, and no statistic uses it. */
export const attachment = z.strictObject({
  runId: id,
  name: z.string(),
  kind: z.enum(ATTACHMENT_KINDS),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: count,
  attachedAt: instant,
  prunedAt: instant.nullable().describe('Null while the file is there'),
});

export type Attachment = Readonly<z.infer<typeof attachment>>;

const KIND_OF_ENDING: Readonly<Record<string, AttachmentKind>> = {
  'nsys-rep': 'nsysReport',
  qdrep: 'nsysReport',
  sqlite: 'nsysExport',
  'ncu-rep': 'ncuReport',
  json: 'json',
  trace: 'json',
  txt: 'text',
  log: 'text',
  md: 'text',
  csv: 'text',
};

export function attachmentKind(name: string): AttachmentKind {
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return KIND_OF_ENDING[ending] ?? 'other';
}

const MOST_NAME_BYTES = 200;

export function nameProblem(name: string): string | null {
  if (!/^[\w@%+=,~()-][\w@%+=,~() .-]*$/u.test(name)) {
    return 'write letters, digits and - _ . + = , @ % ~ ( ) or blanks';
  }
  return Buffer.byteLength(name) > MOST_NAME_BYTES ? 'it is too long' : null;
}
