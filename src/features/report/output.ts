import * as z from 'zod';

import { commonShift, count, id, output } from '../../records/output-parts.ts';

export const report = output('bench report --json', {
  sweepIds: z.array(id),
  ref: z.string(),
  baseRef: z.string().nullable().describe('Null: compared with nothing, or with its history'),
  shift: commonShift,
  cells: count,
  counts: z.record(z.string(), count).describe('Cells by what is said of them'),
  files: z.array(z.strictObject({ format: z.string(), file: z.string() })),
});
