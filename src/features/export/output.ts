import * as z from 'zod';

import { EXPORT_FORMATS } from './trace.ts';
import { count, id, output, type OutputOf } from '../../records/output-parts.ts';

export const exported = output('bench export --output FILE --json', {
  runId: id,
  format: z.enum(EXPORT_FORMATS),
  file: z.string(),
  bytes: count,
  slices: count,
  notes: z.array(z.string()),
});

export type ExportOutput = OutputOf<typeof exported>;
