import * as z from 'zod';

import { CONVERTERS, variantRecord } from '../../variants/conversion.ts';
import { PRECISIONS } from '../../records/precision.ts';
import { id, output, type OutputOf } from '../../records/output-parts.ts';

const shapes = z.record(z.string(), z.array(z.number()).readonly());

/** A model that is made before the engines that need it. */
export const plannedVariant = z.strictObject({
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

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const quantizeOutput = output('bench quantize --json', {
  ...variantRecord.shape,
  sha256: sha256.describe('Of the variant with its external data'),
  baseSha256: sha256,
  model: z.string(),
  how: z.enum(['made', 'cached']),
  path: z.string().describe('In the cache'),
  output: z.string().nullable().describe('The copy that was asked for'),
  argv: z.array(z.string()).describe('Started in a folder of its own with a copy of the model'),
  wallS: z.number().nullable(),
  notes: z.array(z.string()),
});

export type QuantizeOutput = OutputOf<typeof quantizeOutput>;
