import { aiperfDriver } from './aiperf/index.ts';
import { commandDriver } from './command/index.ts';
import type { Driver } from './driver.ts';
import { googleBenchmarkDriver } from './google-benchmark/index.ts';
import { perfAnalyzerDriver } from './perf-analyzer/index.ts';
import { polygraphyDriver } from './polygraphy/index.ts';
import { torchTensorrtDriver } from './torch-tensorrt/index.ts';
import { trtllmBenchDriver } from './trtllm-bench/index.ts';

/** To add a driver, add its folder and one line here. */
export const DRIVERS: readonly [Driver, ...Driver[]] = [
  commandDriver,
  torchTensorrtDriver,
  perfAnalyzerDriver,
  polygraphyDriver,
  trtllmBenchDriver,
  aiperfDriver,
  googleBenchmarkDriver,
];

export function findDriver(kind: string): Driver | null {
  return DRIVERS.find((driver) => driver.kind === kind) ?? null;
}
