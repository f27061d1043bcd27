import * as z from 'zod';

import { count, id, output, type OutputOf } from '../../records/output-parts.ts';

export const exported = output('bench export --output FILE --json', {
  runId: id,
  format: z.literal('chrome-trace'),
  file: z.string(),
  bytes: count,
  slices: count,
  notes: z.array(z.string()),
});

export type ExportOutput = OutputOf<typeof exported>;
