import * as z from 'zod';

import { DATE_SOURCES } from '../../records/sweep.ts';
import { leftOutSchema } from '../../selection/find-runs.ts';
import { count, id, instant, output, type OutputOf, provenance } from '../../records/output-parts.ts';

export const importOutput = output('bench import --json', {
  leftOut: leftOutSchema,
  sweeps: z.array(
    z.strictObject({
      sweepId: id,
      name: z.string().nullable(),
      provenance,
      stored: count,
      alreadyStored: count,
      outcomes: z.strictObject({ measured: count, built: count, unfit: count, failed: count }),
      startedAt: instant.nullable(),
      datesFrom: z.array(z.enum(DATE_SOURCES)),
    }),
  ),
});

export type ImportOutput = OutputOf<typeof importOutput>;
