import * as z from 'zod';

import { count, id, instant } from './output-parts.ts';

const ATTACHMENT_KINDS = ['nsysReport', 'nsysExport', 'ncuReport', 'json', 'text', 'other'] as const;

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
