import * as z from 'zod';

import { cellSchema } from './cell.ts';
import { methodSchema, timeStatisticsSchema } from './harness.ts';
import { layerTensorSchema } from './layer-info.ts';
import { metricSchema } from './metric.ts';
import { evidenceSchema, FAILURE_REASONS, UNFIT_REASONS, runFlagSchema } from './outcome.ts';
import { PROVENANCES, sweepSchema } from './sweep.ts';
import { RUN_ROLES } from './run.ts';
import { count, idSchema, type Immutable } from './scalars.ts';
import { telemetrySchema } from './telemetry.ts';
import { commonShiftSchema } from './verdict.ts';

export { accuracySchema as accuracy } from './accuracy.ts';
export { count, idSchema as id } from './scalars.ts';
export const instant = z.iso.datetime({ precision: 3 }).describe('UTC, ISO 8601');
export const provenance = z.enum(PROVENANCES);
export { metricSchema as metric };
export const role = z.enum(RUN_ROLES);
export const unit = z.string().describe('ms, qps, s, MiB or %; for another harness, the unit in the matrix');

/** The cell of a row, and its metric. */
export const aboutCell = { key: idSchema, label: z.string(), metric: metricSchema, unit };

export const cell = z.strictObject({
  key: idSchema.describe('Key of the cell, the same in every sweep and on every machine'),
  ...cellSchema.shape,
});

export const method = z.strictObject(methodSchema.shape);

export const reason = z.enum([...FAILURE_REASONS, ...UNFIT_REASONS]).nullable();

export const flag = z.strictObject(runFlagSchema.shape);

export const evidence = z.strictObject(evidenceSchema.shape);

export const statistics = z.strictObject(timeStatisticsSchema.shape).describe('Milliseconds');

/** Medians are over the samples with GPU activity. */
export const telemetry = z.strictObject(telemetrySchema.shape);

export const sweep = z.strictObject({
  ...sweepSchema.shape,
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
  seed: count.nullable(),
});

export const layer = z.strictObject({
  index: count,
  name: z.string(),
  timeMs: z.number().nullable(),
  /** Time of one query. */
  averageMs: z.number().nullable(),
  medianMs: z.number().nullable(),
  percentage: z.number().nullable(),
  type: z.string().nullable(),
  tactic: z.string().nullable(),
  /** Type of the first tensor that is neither an index nor a shape; null if the inspector gives none. */
  precisionIn: z.string().nullable(),
  precisionOut: z.string().nullable(),
  channels: z
    .tuple([z.number(), z.number()])
    .nullable()
    .describe('Input and output channels of a convolution, or K and N of a matrix product; -1 if dynamic'),
  inputs: z.array(layerTensorSchema),
  outputs: z.array(layerTensorSchema),
  origins: z.array(z.string()).describe('The ONNX nodes that it came from'),
});

export const commonShift = commonShiftSchema.nullable().describe('A change that at least 80 % of the cells share');

export function output<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  return outputOfVersion(1, description, shape);
}

export function outputOfVersion<const Version extends number, Shape extends z.ZodRawShape>(
  version: Version,
  description: string,
  shape: Shape,
) {
  return z.strictObject({ schemaVersion: z.literal(version), ...shape }).describe(description);
}

export type OutputOf<Schema extends z.ZodType> = Immutable<z.infer<Schema>>;

export const throughputFrom = z
  .enum(['counted', 'medianLatency'])
  .describe('medianLatency: computed from it, for a harness without throughput');
