import * as z from 'zod';

import { accuracyInputsSchema } from '../../records/accuracy.ts';
import { accuracy, instant, output, type OutputOf } from '../../records/output-parts.ts';
import { sha256Schema, textByName, textOrNull } from '../../records/scalars.ts';

const pair = { model: z.string(), precision: textOrNull, reference: z.string(), variant: z.string() };

export const accuracyOutput = output('bench model accuracy --json', {
  maxDropDb: z.number(),
  comparisons: z.array(
    z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('compared'),
        ...pair,
        referencePrecision: textOrNull,
        referenceSha256: sha256Schema,
        variantSha256: sha256Schema,
        inputs: accuracyInputsSchema,
        versions: textByName,
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
      z.strictObject({ kind: z.literal('failed'), ...pair, problem: z.string() }),
    ]),
  ),
  notes: z.array(z.string()),
});

export type AccuracyOutput = OutputOf<typeof accuracyOutput>;

export type AccuracyRow = AccuracyOutput['comparisons'][number];

export type ComparedRow = Extract<AccuracyRow, { readonly kind: 'compared' }>;
