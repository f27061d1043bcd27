import * as z from 'zod';

import { count, output } from '../../records/output-parts.ts';

const tensor = z.strictObject({
  name: z.string(),
  elementType: z.string().describe('float16, int64, …; sequence, map, … for what is no tensor'),
  shape: z
    .array(z.union([z.number().int(), z.string()]).nullable())
    .nullable()
    .describe('A size, the name of a dynamic dimension, or null for one without a name'),
});

const ops = z.array(
  z.strictObject({ domain: z.string().describe('Empty for the operators of ONNX itself'), opType: z.string(), count }),
);

export const inspect = output('bench inspect --json', {
  file: z.string(),
  fileBytes: count,
  irVersion: z.number().int(),
  producer: z.string(),
  opsets: z.array(z.strictObject({ domain: z.string(), version: z.number().int() })),
  inputs: z.array(tensor).describe('Without initializers'),
  outputs: z.array(tensor),
  nodes: count.describe('Of the main graph'),
  nestedNodes: count.describe('In the graphs of control flow and in functions of the model'),
  ops: ops.describe('All operators, nested ones too, the most frequent first'),
  initializers: count,
  inlineBytes: count.describe('Weights in the file itself'),
  externalBytes: count.describe('Weights in other files'),
  weights: z.array(z.strictObject({ elementType: z.string(), tensors: count, bytes: count })),
  quantizeNodes: count,
  dequantizeNodes: count,
  quantizedTypes: z.array(z.strictObject({ elementType: z.string(), nodes: count })),
  customOps: ops.describe('Operators that need a plugin'),
  dataDependentOps: ops.describe('Operators whose output shape hangs on values'),
  controlFlowOps: ops,
  externalFiles: z.array(
    z.strictObject({
      location: z.string(),
      tensors: count,
      neededBytes: count,
      bytes: count.nullable(),
      problem: z.string().nullable().describe('What keeps it from being used'),
    }),
  ),
  suggested: z.strictObject({
    shapes: z.string().describe('For `shapes:` of the model in a matrix'),
    trtexecFlag: z.string().nullable().describe('Null when trtexec takes none'),
  }),
  warnings: z.array(z.string()),
});
