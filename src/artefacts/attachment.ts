/** What a file is, by the ending of its name. */
export const ATTACHMENT_KINDS = ['nsysReport', 'nsysExport', 'ncuReport', 'json', 'text', 'other'] as const;

export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/** A file that somebody put beside a run. It says nothing of the run's numbers, and no statistic looks at it. */
export interface Attachment {
  readonly runId: string;
  readonly name: string;
  readonly kind: AttachmentKind;
  readonly sha256: string;
  readonly bytes: number;
  readonly attachedAt: string;
  /** When `bench db prune` took the file; null while it is there. */
  readonly prunedAt: string | null;
}

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

/** Longer names do not fit into every file system. */
const MOST_NAME_BYTES = 200;

/** Why a file cannot be kept under a name; null when it can. */
export function nameProblem(name: string): string | null {
  if (!/^[\w@%+=,~()-][\w@%+=,~() .-]*$/u.test(name)) {
    return 'write letters, digits and - _ . + = , @ % ~ ( ) or blanks';
  }
  return Buffer.byteLength(name) > MOST_NAME_BYTES ? 'it is too long' : null;
}
