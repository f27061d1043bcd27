import * as z from 'zod';

import { orAxis } from '../driver.ts';
import { argumentList, limitSettings, processSettings } from '../started-program.ts';

export const DEFAULT_ESTIMATE_S = 30;

export const perfAnalyzerSettings = z
  .strictObject({
    kind: z.literal('perf-analyzer'),
    program: z.string().min(1).describe('Its name or path. Default: perf_analyzer').optional(),
    serves: z.string().min(1).describe("The model's name on the server. Default: its name in this file").optional(),
    concurrency: orAxis(z.number().int().min(1)).describe('Requests under way at the same time: --concurrency-range'),
    batch: orAxis(z.number().int().min(1)).describe('Samples in a request: -b').optional(),
    args: argumentList.describe('What else it is told, such as [-u, "localhost:8001", -i, grpc]').optional(),
    ...processSettings,
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe("NVIDIA's perf_analyzer against a server that runs already");

export type PerfAnalyzerSettings = z.infer<typeof perfAnalyzerSettings>;
