import { join } from 'node:path';

import { StoreError } from '../errors.ts';
import type { Attachment } from '../records/attachment.ts';
import type { RunId, SweepId } from '../records/scalars.ts';
import { printable } from '../text/printable.ts';
import { runFolderOf, ATTACHED } from './layout.ts';

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

const KIND_OF_ENDING: Readonly<Record<string, Attachment['kind']>> = {
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

export function attachmentKind(name: string): Attachment['kind'] {
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
