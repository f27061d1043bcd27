import * as z from 'zod';

import { orAxis } from '../driver.ts';
import { processSettings } from '../started-program.ts';

export const googleBenchmarkSettings = z
  .strictObject({
    kind: z.literal('google-benchmark'),
    run: z
      .array(z.union([z.string(), z.number()]))
      .min(1)
      .describe(
        'A program linked with google-benchmark, and its arguments; no shell reads them. bench adds --benchmark_out. {batch} stands for an axis',
      ),
    benchmark: z
      .string()
      .min(1)
      .describe('The benchmark that the cell is judged by, as the program names it: BM_copy/4096'),
    ...processSettings,
    estimateS: orAxis(z.number().min(0))
      .describe('What one run takes, about. Default: 10')
      .optional(),
  })
  .describe('A program of google-benchmark: the time of each of its benchmarks');

export type GoogleBenchmarkSettings = z.infer<typeof googleBenchmarkSettings>;
