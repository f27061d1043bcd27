import * as z from 'zod';

import { aboutCell, count, id, output, type OutputOf } from '../../records/output-parts.ts';

export const doctorOutput = output('bench doctor --json', {
  ready: z.boolean().describe('Nothing essential lacks; else the exit code is 3'),
  measured: z
    .strictObject({
      sweepId: id,
      machine: z.string(),
      gpuName: z.string(),
      against: z.literal('itself').nullable().describe('Null without three earlier sweeps of this machine'),
      known: count.describe('Earlier sweeps of this machine'),
      changePercent: z.number().nullable().describe('Median over the cells: +4 is 4 % slower'),
      standing: z.enum(['slower', 'faster', 'as before']).nullable(),
      cells: z.array(
        z.strictObject({
          ...aboutCell,
          value: z.number(),
          usual: z.number().nullable().describe('Median of those that it is compared with'),
        }),
      ),
    })
    .nullable()
    .describe('By --measure'),
  checks: z.array(
    z.strictObject({
      id: z.string().describe('Stable, such as trtexec.library or gpu0.persistence'),
      group: z.string(),
      title: z.string(),
      state: z
        .enum(['ok', 'advice', 'warning', 'failed', 'absent'])
        .describe('advice: could be steadier; warning: may spoil numbers; absent: not here'),
      evidence: z.string(),
      mend: z.string().nullable().describe('The command; what follows a # is for people'),
      essential: z.boolean().describe('Nothing can be measured while this is failed'),
    }),
  ),
});

export type DoctorOutput = OutputOf<typeof doctorOutput>;
export type DoctorCheck = DoctorOutput['checks'][number];
