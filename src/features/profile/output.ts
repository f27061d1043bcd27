import * as z from 'zod';

import { UNATTRIBUTED } from '../../layers/kernels/layer-kernels.ts';
import { count, id, output, type OutputOf } from '../../records/output-parts.ts';

const milliseconds = z.number().min(0);
const argv = z.array(z.string());

const captured = {
  nsysVersion: z.string().nullable(),
  exportSchema: z.string().nullable(),
  queries: count.describe('Calls of the engine, and launches of a graph of it'),
  kernels: count,
  kernelMs: milliseconds.describe('Sum over all kernels'),
  busyMs: milliseconds.describe('How long any kernel or copy was on the GPU'),
  spanMs: milliseconds.describe('From the first of them to the end of the last'),
  gaps: z.strictObject({ withinQueriesMs: milliseconds, betweenQueriesMs: milliseconds, beforeCopiesMs: milliseconds }),
  layers: z.array(
    z.strictObject({
      name: z.string(),
      index: count.nullable().describe('Null for a range that is no layer of the profile'),
      profileMs: milliseconds.nullable().describe('Mean of one query by the profile'),
      executions: count.describe('How often it ran: the sums are over all of these'),
      kernels: count,
      kernelMs: milliseconds,
      launches: count.describe('Calls that launched them; none of a CUDA graph'),
      gapMs: milliseconds.describe('The GPU had nothing to do just before, within a query'),
      kernelNames: z.array(z.string()),
    }),
  ),
  unattributed: z
    .array(z.strictObject({ reason: z.enum(UNATTRIBUTED), kernels: count, kernelMs: milliseconds }))
    .describe('Kernels of no layer'),
  copies: z.array(z.strictObject({ kind: z.string(), count, bytes: count, ms: milliseconds })),
  calls: z.array(z.strictObject({ name: z.string(), count, ms: milliseconds, maxMs: milliseconds })),
};

export const layersKernels = output('bench layers --kernels --json', {
  label: z.string().nullable(),
  file: z.string(),
  notes: z.array(z.string()),
  ...captured,
});

export const profileOutput = output('bench profile --json', {
  dryRun: z.boolean(),
  cell: id.nullable().describe('Null for a command behind --'),
  label: z.string().nullable(),
  tensorrt: z.string().nullable(),
  nsysVersion: z.string().nullable().describe('Null when it was not asked'),
  engine: z.string().nullable().describe('The one that is there; null when it is built'),
  steps: z.array(
    z.strictObject({
      kind: z.enum(['build', 'capture', 'export']),
      variables: z.record(z.string(), z.string().nullable()).describe('Of the environment; null takes one away'),
      argv,
    }),
  ),
  notes: z.array(z.string()),
  files: z.array(z.strictObject({ path: z.string(), bytes: count, attached: z.boolean() })),
  runId: id.nullable().describe('The run that they are attached to'),
  kernels: z.strictObject(captured).nullable(),
});

export type ProfileOutput = OutputOf<typeof profileOutput>;
