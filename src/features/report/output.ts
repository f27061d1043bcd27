import * as z from 'zod';

import { comparison } from '../compare/index.ts';
import { commonShift, count, id, output, outputOfVersion, provenance } from '../../records/output-parts.ts';
import type { OutputOf } from '../../records/output-parts.ts';

export const report = output('bench report --json', {
  sweepIds: z.array(id),
  ref: z.string(),
  baseRef: z.string().nullable().describe('Null: judged by bench check, or not compared'),
  shift: commonShift,
  headline: z.string().nullable().describe('Headline of bench check; null if two sides were named'),
  findings: z
    .array(z.strictObject({ id, state: z.string() }))
    .describe('Findings that affect the exit code of bench check, new ones first'),
  cells: count,
  counts: z.record(z.string(), count).describe('Number of cells by verdict'),
  files: z.array(z.strictObject({ format: z.string(), file: z.string() })),
});

const { schemaVersion: _, ...compared } = comparison.shape;

export const upgrade = outputOfVersion(2, 'bench report --upgrade OLD NEW --json', {
  ...compared,
  against: z.array(z.string()).describe('Reasons against the upgrade; empty if there are none'),
});

export type UpgradeOutput = OutputOf<typeof upgrade>;

export type ReportOutput = OutputOf<typeof report>;

export const reportHtml = output('bench report --html FILE --json', {
  file: z.string().describe('File as named on the command line'),
  bytes: count,
  provenance,
  cells: count,
  sweeps: count,
});
export type ReportHtmlOutput = OutputOf<typeof reportHtml>;

export const serve = output('bench serve --json', { url: z.string() });
