import * as z from 'zod';

import { PRECISIONS } from '../../records/cell.ts';
import { cell, count, id, output, type OutputOf, provenance, role } from '../../records/output-parts.ts';
import { CONVERTERS } from '../../variants/conversion.ts';

const shapes = z.record(z.string(), z.array(z.number()).readonly());

const plannedVariant = z.strictObject({
  variantRef: id,
  label: z.string(),
  by: z.enum(CONVERTERS),
  precision: z.enum(PRECISIONS),
  onnxPath: z.string(),
  calibration: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('random'), seed: z.number(), samples: z.number(), shapes }),
      z.strictObject({ kind: z.literal('file'), path: z.string(), shapes }),
    ])
    .nullable(),
  argv: z.array(z.string()),
  timeoutS: z.number(),
});

const variables = z.record(z.string(), z.string().nullable());

const plannedCommand = { buildRef: id, argv: z.array(z.string()).nullable(), timeoutS: z.number() };
export const planOutput = output('bench plan --json', {
  matrix: z.string(),
  tensorrt: z.string(),
  provenance,
  seed: count,
  repeats: count,
  estimateS: z.number(),
  cells: z.array(cell.extend({ label: z.string(), buildRef: id })),
  variants: z.array(plannedVariant),
  builds: z.array(
    z.strictObject({
      ...plannedCommand,
      label: z.string(),
      variantRef: id.nullable(),
      enginePath: z.string().nullable(),
    }),
  ),
  runs: z.array(
    z.strictObject({
      ...plannedCommand,
      position: count,
      role,
      cellKey: id,
      repeat: count,
      env: variables.describe('Variables that stand on an axis; null: taken away'),
      estimateS: z.number(),
      neighborArgv: z.array(z.string()).exactOptional().describe('Runs on the same GPU meanwhile'),
    }),
  ),
  merged: z.array(z.strictObject({ label: z.string(), times: count })),
  notes: z.array(z.string()),
});

export type PlanOutput = OutputOf<typeof planOutput>;
