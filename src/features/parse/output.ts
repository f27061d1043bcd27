import * as z from 'zod';

import { cellBoundSchema } from '../../records/bound.ts';
import { PERCENTILE_RULES, TIMERS } from '../../records/harness.ts';
import { leftOutSchema } from '../../selection/find-runs.ts';
import { OUTCOME_KINDS } from '../../records/outcome.ts';
import {
  count,
  evidence,
  flag,
  layer,
  output,
  type OutputOf,
  reason,
  statistics,
  telemetry,
} from '../../records/output-parts.ts';

const harnessMethod = z.strictObject({
  harness: z.string(),
  harnessVersion: z.string().nullable(),
  timer: z.enum(TIMERS),
  inFlight: z.number().nullable(),
  percentileRule: z.enum(PERCENTILE_RULES),
  transfers: z.boolean().nullable(),
  warmUpRuns: count.nullable(),
  timedRuns: count.nullable(),
});
/** Null for a number that an excerpt lacks. */
const times = z
  .strictObject({
    ...statistics.shape,
    min: z.number().nullable(),
    max: z.number().nullable(),
    median: z.number().nullable(),
  })
  .nullable();
export const parseOutput = output('bench parse --json', {
  leftOut: leftOutSchema,
  runs: z.array(
    z.strictObject({
      file: z.string(),
      outcome: z.strictObject({ kind: z.enum(OUTCOME_KINDS), reason, evidence: z.array(evidence) }),
      tensorrtVersion: z.string().nullable(),
      gpu: z.string().nullable(),
      options: z.record(z.string(), z.unknown()).describe("What trtexec's banner says it used"),
      throughputQps: z.number().nullable(),
      latencyMs: times,
      enqueueMs: times,
      h2dMs: times,
      gpuComputeMs: times,
      d2hMs: times,
      hostWalltimeS: z.number().nullable(),
      gpuTotalS: z.number().nullable(),
      queries: count.nullable(),
      warmUpQueries: count.nullable(),
      derived: z
        .record(z.string(), z.string())
        .exactOptional()
        .describe('Numbers that were computed from printed ones, with their formulas; absent without any'),
      engineMiB: z.number().nullable(),
      buildS: z.number().nullable(),
      contextMiB: z.number().nullable(),
      cvPercent: z.number().nullable(),
      enqueueRatio: z.number().nullable(),
      enqueueClass: z.enum(['free', 'near', 'bound']).nullable(),
      gpuBusy: z.number().nullable(),
      idleGapMs: z.number().nullable(),
      transferBound: z.enum(['h2d', 'd2h']).nullable(),
      itemsPerS: z.number().nullable(),
      bound: cellBoundSchema,
      telemetry: telemetry.nullable(),
      hints: z.array(z.string()),
      flags: z.array(flag),
      harness: z
        .strictObject({
          method: harnessMethod,
          values: z.array(z.strictObject({ metric: z.string(), value: z.number() })),
        })
        .nullable()
        .describe('Of another harness than trtexec'),
      notes: z.array(z.string()),
      layers: z.array(layer).nullable(),
      layersTotal: layer
        .pick({ averageMs: true, medianMs: true })
        .nullable()
        .describe('Of all layers of one query, where the log lists some of them only; else null'),
    }),
  ),
});

export type ParseOutput = OutputOf<typeof parseOutput>;
