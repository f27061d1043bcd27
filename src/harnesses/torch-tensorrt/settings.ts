import * as z from 'zod';

import { argumentList, limitSettings, processSettings, timerSetting, warmUpRunsSetting } from '../started-program.ts';

export const DEFAULT_ESTIMATE_S = 60;

export const torchSettings = z
  .strictObject({
    kind: z.literal('torch-tensorrt'),
    run: argumentList
      .min(1)
      .describe(
        'The script and its arguments; no shell reads them. It prints a block that begins with "Latency over N runs (ms):". {batch} stands for an axis, {cudaGraph} is on or off, {runFolder} the folder of the run',
      ),
    timer: timerSetting,
    transfers: z
      .boolean()
      .describe('Whether copies between host and GPU are in the times, where it is known')
      .optional(),
    warmUpRuns: warmUpRunsSetting,
    ...processSettings,
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('A Torch-TensorRT script that prints the block of latencies of the benchmarking guide');

export type TorchSettings = z.infer<typeof torchSettings>;
