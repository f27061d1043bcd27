import * as z from 'zod';

import { TIMERS } from '../records/harness.ts';

/** The settings of a harness by their shape: `kind` comes first. */
export type SettingsOf<Shape extends z.ZodRawShape> = z.infer<
  z.ZodObject<{ kind: z.ZodLiteral<string> } & Shape, z.core.$strict>
>;

/** A value, or the axis that supplies it: `"{concurrency}"`. Axes are filled in before use. */
export function orAxis<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.string().regex(/^\{[A-Za-z_]\w*\}$/)]);
}

/** A setting with text that is not empty. */
export function text(description: string) {
  return z.string().min(1).describe(description);
}

export function count(least: number, description: string) {
  return orAxis(z.number().int().min(least)).describe(description);
}

const estimate = orAxis(z.number().min(0));

export function limits(defaultEstimateS: number) {
  return {
    timeoutS: orAxis(z.number().min(1)).describe('Time limit of one run. Default: 3600').optional(),
    estimateS: estimate.describe(`Approximate time of one run. Default: ${defaultEstimateS}`).optional(),
  };
}

export const argumentList = z.array(z.union([z.string(), z.number()]));

export function run(description: string) {
  return argumentList.min(1).describe(description);
}

export const timer = z
  .enum(TIMERS)
  .describe('The timer: wall or cudaEvent. Runs with another timer have another history');

export const warmUpRuns = z.number().int().min(0).describe('Warm-up runs, if known').optional();

export function program(defaultEstimateS: number) {
  return {
    version: z.string().max(100).describe('Version of the program, for people: stored with each run').optional(),
    cwd: text('Working folder of the program. Default: the folder of this file').optional(),
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/), z.union([z.string(), z.number(), z.null()]))
      .describe('Environment variables in addition to those of bench; null removes one')
      .optional(),
    ...limits(defaultEstimateS),
  };
}

/** Whether tokens are sent as they are generated. */
export const streaming = orAxis(z.union([z.boolean(), z.enum(['on', 'off'])]));

export function isStreaming(settings: { readonly streaming?: boolean | string | undefined }): boolean {
  return settings.streaming === true || settings.streaming === 'on';
}
