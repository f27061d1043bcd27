import * as z from 'zod';

import { CONVERTERS } from '../../variants/conversion.ts';
import { PRECISIONS } from '../../records/precision.ts';
import { id, output } from '../../records/output-parts.ts';

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

/** What a variant is and how it was made, as it stands in `run.json` of its runs as well. */
const variantRecord = {
  by: z.enum(CONVERTERS),
  precision: z.enum(PRECISIONS),
  sha256: sha256.describe('Of the variant with its external data'),
  baseSha256: sha256,
  converted: z.strictObject({ nodes: z.number().int(), of: z.number().int().nullable() }),
  calibration: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('random'), seed: z.number(), sha256 }),
      z.strictObject({ kind: z.literal('file'), sha256 }),
    ])
    .nullable(),
  packages: z.record(z.string(), z.string()),
  python: z.string(),
};

export const quantize = output('bench quantize --json', {
  ...variantRecord,
  model: z.string(),
  how: z.enum(['made', 'cached']),
  path: z.string().describe('In the cache'),
  output: z.string().nullable().describe('The copy that was asked for'),
  argv: z.array(z.string()).describe('Started in a folder of its own with a copy of the model'),
  wallS: z.number().nullable(),
  notes: z.array(z.string()),
});
