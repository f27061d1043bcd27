import * as z from 'zod';

import { INPUT_DISTRIBUTIONS } from '../../records/accuracy.ts';
import { accuracy, count, instant, output, type OutputOf } from '../../records/output-parts.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const accuracyOutput = output('bench model accuracy --json', {
  maxDropDb: z.number(),
  comparisons: z.array(
    z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('compared'),
        model: z.string(),
        precision: z.string().nullable(),
        referencePrecision: z.string().nullable(),
        reference: z.string(),
        variant: z.string(),
        referenceSha256: sha256,
        variantSha256: sha256,
        inputs: z.discriminatedUnion('kind', [
          z.strictObject({
            kind: z.literal('random'),
            seed: count,
            distribution: z.enum(INPUT_DISTRIBUTIONS),
            shapes: z.record(z.string(), z.array(z.number())),
          }),
          z.strictObject({ kind: z.literal('file'), sha256 }),
          z.strictObject({ kind: z.literal('exported') }),
        ]),
        versions: z.record(z.string(), z.string()),
        accuracy,
        stored: z.boolean(),
        before: z
          .strictObject({
            measuredAt: instant,
            sqnrDb: z.number().nullable(),
            dropDb: z.number().nullable().describe('Null where one of the two had no error at all'),
            isRegression: z.boolean(),
          })
          .nullable()
          .describe('The newest stored accuracy on the same inputs'),
      }),
      z.strictObject({
        kind: z.literal('failed'),
        model: z.string(),
        precision: z.string().nullable(),
        reference: z.string(),
        variant: z.string(),
        problem: z.string(),
      }),
    ]),
  ),
  notes: z.array(z.string()),
});

export type AccuracyOutput = OutputOf<typeof accuracyOutput>;

export type AccuracyRow = AccuracyOutput['comparisons'][number];
