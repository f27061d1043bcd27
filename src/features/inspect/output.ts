import * as z from 'zod';

import { output, type OutputOf } from '../../records/output-parts.ts';
import { onnxFacts } from '../../tools/onnx/facts.ts';

export const inspectOutput = output('bench model inspect --json', {
  file: z.string(),
  ...onnxFacts.shape,
  suggested: z.strictObject({
    shapes: z.string().describe('For `shapes:` of the model in a matrix'),
    trtexecFlag: z.string().nullable().describe('Null when trtexec takes none'),
  }),
  warnings: z.array(z.string()),
});

export type InspectOutput = OutputOf<typeof inspectOutput>;
