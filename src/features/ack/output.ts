import * as z from 'zod';

import { id, instant, output, type OutputOf } from '../../records/output-parts.ts';

export const ackOutput = output('bench ack --json', {
  findingId: id,
  reason: z.string(),
  until: z.string().nullable(),
  level: z.number(),
  createdAt: instant,
});

export type AckOutput = OutputOf<typeof ackOutput>;
