import * as z from 'zod';

import { PRECISIONS } from '../../records/cell.ts';
import { count, output, type OutputOf } from '../../records/output-parts.ts';

const size = z.number().int().min(0);

export const initOutput = output('bench init --json', {
  file: z.string().describe('The matrix that was written'),
  schemaFile: z.string().nullable().describe('The schema file, for editors; null if it existed'),
  ignoreFile: z.string().nullable().describe('The .gitignore that was written; null when one was there'),
  trtexec: z
    .strictObject({ path: z.string(), version: z.string().nullable() })
    .nullable()
    .describe('Null when there is none'),
  gpus: z.array(z.string()),
  models: z.array(
    z.strictObject({
      name: z.string(),
      onnx: z.string().describe('Relative to the folder of the matrix'),
      precisions: z.array(
        z.strictObject({
          precision: z.enum(PRECISIONS),
          source: z.string().describe('onnx, flag or autocast'),
          why: z.string(),
        }),
      ),
      dimensions: z
        .array(
          z.strictObject({
            name: z.string(),
            values: z.array(size),
            min: size,
            opt: size,
            max: size,
            why: z.string().nullable().describe('Why it was guessed'),
          }),
        )
        .describe('Inputs with dynamic dimensions'),
    }),
  ),
  skipped: z.array(z.strictObject({ path: z.string(), problem: z.string() })),
  lacking: z.array(z.string()).describe('What this machine lacks to run the matrix'),
  cells: count,
  runs: count,
});

export type InitOutput = OutputOf<typeof initOutput>;
