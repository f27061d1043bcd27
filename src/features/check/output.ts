import * as z from 'zod';

import { firstCauseSchema } from '../../records/cause.ts';
import { findingSchema } from '../../records/finding.ts';
import { aboutCell, count, id, instant, output, type OutputOf, provenance, unit } from '../../records/output-parts.ts';

const {
  findingId,
  cellKey,
  provenance: _p,
  branch: _b,
  matrix: _m,
  lastGoodSweepId: _l,
  ...found
} = findingSchema.shape;
const finding = z.strictObject({
  id: findingId,
  key: cellKey,
  label: z.string(),
  unit,
  betterIs: z.enum(['lower', 'higher']),
  ...found,
});
const nightSweep = z
  .strictObject({
    sweepId: id,
    startedAt: instant.nullable(),
    commit: z.string().nullable(),
    dirty: z.boolean().nullable(),
  })
  .nullable();

export const checkedSweep = output('bench check --json', {
  sweepId: id,
  startedAt: instant.nullable(),
  commit: z.string().nullable(),
  branch: z.string().nullable(),
  matrix: z.string().nullable(),
  provenance,
  nights: count,
  cells: count,
  groups: z
    .array(
      z.strictObject({
        direction: z.enum(['slower', 'faster']),
        shared: z.array(z.string()).describe('What all cells of the group share'),
        lastGood: nightSweep,
        firstBad: nightSweep,
        commits: z.array(z.strictObject({ commit: z.string(), subject: z.string() })),
        changes: z.array(z.string()).describe('Of machine and engines, on the same night'),
        cause: firstCauseSchema.nullable().describe('The likeliest one, in the clearest cell'),
        findings: z.array(finding),
      }),
    )
    .describe('Reported in the newest sweep'),
  earlier: z.array(finding).describe('Reported on earlier nights'),
  failed: z.array(z.strictObject({ key: id, label: z.string(), reasons: z.array(z.string()) })),
  off: z
    .array(
      z.strictObject({
        ...aboutCell,
        nights: count.describe('Number of consecutive nights, the newest included'),
        before: z.number(),
        now: z.number(),
        changePercent: z.number(),
        deviations: z.number(),
        runs: count.describe('Of the newest sweep'),
        lastGoodSweepId: id.nullable().describe('The newest sweep at the level before'),
      }),
    )
    .describe('Far outside their expected range, and not reported yet: no alarm'),
  accuracy: z
    .array(
      z.strictObject({
        model: z.string(),
        precision: z.string(),
        before: z.number().nullable().describe('SQNR in dB; null when no value differs'),
        after: z.number().nullable(),
        dropDb: z.number().nullable(),
        keys: z.array(id).describe('Cells whose engine is built from that file'),
      }),
    )
    .describe('Outputs further from the reference than on the night before'),
  notes: z.array(z.string()),
});

export type CheckedSweep = OutputOf<typeof checkedSweep>;

export type CheckedGroup = CheckedSweep['groups'][number];

export type CheckedFinding = CheckedGroup['findings'][number];
