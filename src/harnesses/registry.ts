import { aiperfDriver } from './aiperf.ts';
import { commandDriver } from './command.ts';
import type { Driver } from './driver.ts';
import { googleBenchmarkDriver } from './google-benchmark.ts';
import { perfAnalyzerDriver } from './perf-analyzer.ts';
import { polygraphyDriver } from './polygraphy.ts';
import { torchTensorrtDriver } from './torch-tensorrt.ts';
import { trtllmBenchDriver } from './trtllm-bench.ts';

/** To add a driver, add its file and one line here. */
export const DRIVERS: readonly [Driver, ...Driver[]] = [
  commandDriver,
  torchTensorrtDriver,
  perfAnalyzerDriver,
  polygraphyDriver,
  trtllmBenchDriver,
  aiperfDriver,
  googleBenchmarkDriver,
];

/** Drivers of plug-ins, by the kind in matrices. */
const outside = new Map<string, Driver>();

/** @throws Error for a kind that bench itself has */
export function addDriver(driver: Driver): void {
  if (DRIVERS.some(({ kind }) => kind === driver.kind)) throw new Error(`bench already has a driver ${driver.kind}`);
  outside.set(driver.kind, driver);
}

export function knownDrivers(): readonly Driver[] {
  return [...DRIVERS, ...outside.values()];
}

export function findDriver(kind: string): Driver | null {
  return knownDrivers().find((driver) => driver.kind === kind) ?? null;
}
