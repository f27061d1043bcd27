import * as z from 'zod';

import { count, id, instant } from '../records/output-parts.ts';

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
