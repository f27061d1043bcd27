import * as z from 'zod';

import { commonShift, count, id, output, type OutputOf, provenance } from '../../records/output-parts.ts';

export const report = output('bench report --json', {
  sweepIds: z.array(id),
  ref: z.string(),
  baseRef: z.string().nullable().describe('Null: compared with nothing, or with its history'),
  shift: commonShift,
  cells: count,
  counts: z.record(z.string(), count).describe('Cells by what is said of them'),
  files: z.array(z.strictObject({ format: z.string(), file: z.string() })),
});

export type ReportOutput = OutputOf<typeof report>;

export const reportHtml = output('bench report --html FILE --json', {
  file: z.string().describe('As it was named'),
  bytes: count,
  provenance,
  cells: count,
  sweeps: count,
});
export type ReportHtmlOutput = OutputOf<typeof reportHtml>;

export const serve = output('bench serve --json', { url: z.string() });
