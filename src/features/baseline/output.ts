import * as z from 'zod';

import { id, instant, output, type OutputOf } from '../../records/output-parts.ts';

const baseline = z.strictObject({ name: z.string(), sweepId: id, reason: z.string().nullable(), createdAt: instant });
export const baselinesOutput = output('bench ls baselines|set|rm --json: those that this is about', {
  baselines: z.array(baseline),
});

export type BaselinesOutput = OutputOf<typeof baselinesOutput>;
