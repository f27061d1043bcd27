import * as z from 'zod';

import { DISTRIBUTIONS } from '../../variants/random-inputs.ts';
import { count, output, type OutputOf } from '../../records/output-parts.ts';

export const makeInputsOutput = output('bench model make-inputs --json', {
  model: z.string(),
  folder: z.string().describe('From the folder where it was called'),
  distribution: z.enum(DISTRIBUTIONS),
  seed: count,
  integers: z
    .tuple([z.number().int(), z.number().int()])
    .nullable()
    .describe('First and last of whole numbers; null for those that trtexec draws'),
  inputs: z.array(
    z.strictObject({
      name: z.string(),
      elementType: z.string(),
      shape: z.array(count).readonly(),
      file: z.string().describe('In the folder'),
      bytes: count,
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

export type MakeInputsOutput = OutputOf<typeof makeInputsOutput>;
