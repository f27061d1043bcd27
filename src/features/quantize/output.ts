import * as z from 'zod';

import { variantRecord } from '../../variants/conversion.ts';
import { output, type OutputOf } from '../../records/output-parts.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const quantizeOutput = output('bench model quantize --json', {
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
