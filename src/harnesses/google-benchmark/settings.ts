import * as z from 'zod';

import { argumentList, limitSettings, processSettings } from '../started-program.ts';

export const DEFAULT_ESTIMATE_S = 10;

export const googleBenchmarkSettings = z
  .strictObject({
    kind: z.literal('google-benchmark'),
    run: argumentList
      .min(1)
      .describe(
        'A program linked with google-benchmark, and its arguments; no shell reads them. bench adds --benchmark_out. {batch} stands for an axis',
      ),
    benchmark: z
      .string()
      .min(1)
      .describe('The benchmark that the cell is judged by, as the program names it: BM_copy/4096'),
    ...processSettings,
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('A program of google-benchmark: the time of each of its benchmarks');

export type GoogleBenchmarkSettings = z.infer<typeof googleBenchmarkSettings>;
