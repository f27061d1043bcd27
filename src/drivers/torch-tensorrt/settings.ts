import * as z from 'zod';

import { TIMERS } from '../../domain/harness.ts';
import { orAxis } from '../driver.ts';
import { processSettings } from '../started-program.ts';

export const torchSettings = z
  .strictObject({
    kind: z.literal('torch-tensorrt'),
    run: z
      .array(z.union([z.string(), z.number()]))
      .min(1)
      .describe(
        'The script and its arguments; no shell reads them. It prints a block that begins with "Latency over N runs (ms):". {batch} stands for an axis, {cudaGraph} is on or off, {runFolder} the folder of the run',
      ),
    timer: z
      .enum(TIMERS)
      .describe('What takes the times: wall, or cudaEvent. Another timer is another history'),
    transfers: z
      .boolean()
      .describe('Whether copies between host and GPU are in the times, where it is known')
      .optional(),
    warmUpRuns: z
      .number()
      .int()
      .min(0)
      .describe('Runs before the timed ones, where it is known')
      .optional(),
    ...processSettings,
    estimateS: orAxis(z.number().min(0))
      .describe('What one run takes, about. Default: 60')
      .optional(),
  })
  .describe('A Torch-TensorRT script that prints the block of latencies of the benchmarking guide');

export type TorchSettings = z.infer<typeof torchSettings>;
