import * as z from 'zod';

import { aboutCell, count, id, output, type OutputOf } from '../../records/output-parts.ts';

export const doctorOutput = output('bench doctor --json', {
  ready: z.boolean().describe('Nothing essential is missing; otherwise the exit code is 3'),
  measured: z
    .strictObject({
      sweepId: id,
      machine: z.string(),
      gpuName: z.string(),
      against: z.literal('itself').nullable().describe('Null if this machine has fewer than three earlier sweeps'),
      known: count.describe('Number of earlier sweeps of this machine'),
      changePercent: z.number().nullable().describe('Median change over the cells; +4: 4 % slower'),
      standing: z.enum(['slower', 'faster', 'as before']).nullable(),
      cells: z.array(
        z.strictObject({
          ...aboutCell,
          value: z.number(),
          usual: z.number().nullable().describe('Median of the earlier sweeps'),
        }),
      ),
    })
    .nullable()
    .describe('Null without --measure'),
  checks: z.array(
    z.strictObject({
      id: z.string().describe('Stable id, such as trtexec.library or gpu0.persistence'),
      group: z.string(),
      title: z.string(),
      state: z
        .enum(['ok', 'advice', 'warning', 'failed', 'absent'])
        .describe('advice: results could be steadier; warning: results may be wrong; absent: not on this machine'),
      evidence: z.string(),
      mend: z.string().nullable().describe('A shell command; text after # is a comment'),
      essential: z.boolean().describe('True if bench cannot measure while this check fails'),
    }),
  ),
});

export type DoctorOutput = OutputOf<typeof doctorOutput>;
export type DoctorCheck = DoctorOutput['checks'][number];
