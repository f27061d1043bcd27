import * as z from 'zod';

import { count, id, output, type OutputOf } from '../../records/output-parts.ts';
import { captured } from '../layers/index.ts';

const argv = z.array(z.string());

export const profileOutput = output('bench profile --json', {
  dryRun: z.boolean(),
  cell: id.nullable().describe('Null for a command behind --'),
  label: z.string().nullable(),
  tensorrt: z.string().nullable(),
  nsysVersion: z.string().nullable().describe('Null when it was not asked'),
  engine: z.string().nullable().describe('The existing engine; null if it is built'),
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
  kernels: captured.nullable(),
});

export type ProfileOutput = OutputOf<typeof profileOutput>;

/** Variables and command line of a step. */
export type CaptureStep = ProfileOutput['steps'][number];

/** Output before anything was captured. */
export const NOT_CAPTURED = { schemaVersion: 1, dryRun: true, files: [], runId: null, kernels: null } as const;
