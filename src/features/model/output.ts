import * as z from 'zod';

import { output, type OutputOf, count, accuracy, instant } from '../../records/output-parts.ts';
import { onnxFacts } from '../../tools/onnx/facts.ts';
import { variantRecord } from '../../records/conversion.ts';
import { DISTRIBUTIONS } from '../../variants/make-inputs.ts';
import { accuracyInputsSchema } from '../../records/accuracy.ts';
import { sha256Schema, textByName, textOrNull } from '../../records/scalars.ts';

export const inspectOutput = output('bench model inspect --json', {
  file: z.string(),
  ...onnxFacts.shape,
  suggested: z.strictObject({
    shapes: textOrNull.describe('For `shapes:` of the model in a matrix. Null if trtexec cannot read a name'),
    trtexecFlag: textOrNull.describe('Null for a model without dynamic dimensions'),
  }),
  warnings: z.array(z.string()),
});

export type InspectOutput = OutputOf<typeof inspectOutput>;

export const quantizeOutput = output('bench model quantize --json', {
  ...variantRecord.shape,
  sha256: sha256Schema.describe('Hash of the variant with its external data'),
  baseSha256: sha256Schema,
  model: z.string(),
  how: z.enum(['made', 'cached']),
  path: z.string().describe('Path in the cache'),
  output: textOrNull.describe('Copy requested by --output'),
  argv: z.array(z.string()).describe('Command, started in a separate folder with a copy of the model'),
  wallS: z.number().nullable(),
  notes: z.array(z.string()),
});

export type QuantizeOutput = OutputOf<typeof quantizeOutput>;

export const makeInputsOutput = output('bench model make-inputs --json', {
  model: z.string(),
  folder: z.string().describe('Folder, relative to the current one'),
  distribution: z.enum(DISTRIBUTIONS),
  seed: count,
  integers: z
    .tuple([z.number().int(), z.number().int()])
    .nullable()
    .describe('Range of random integers; null if trtexec draws the values'),
  inputs: z.array(
    z.strictObject({
      name: z.string(),
      elementType: z.string(),
      shape: z.array(count).readonly(),
      file: z.string().describe('File name in the folder'),
      bytes: count,
      sha256: sha256Schema,
    }),
  ),
});

export type MakeInputsOutput = OutputOf<typeof makeInputsOutput>;

const lengths = z.strictObject({ mean: z.number(), stdev: z.number() });

export const makeDatasetOutput = output('bench model make-dataset --json', {
  file: z.string().describe('File as named on the command line'),
  sha256: z.string(),
  bytes: count,
  requests: count,
  inputTokens: lengths.describe('As requested'),
  outputTokens: lengths,
  vocabSize: count,
  seed: count,
});

export type MakeDatasetOutput = OutputOf<typeof makeDatasetOutput>;

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
            dropDb: z.number().nullable().describe('Null if one of the two has no error'),
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
