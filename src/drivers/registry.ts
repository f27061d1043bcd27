import { aiperfDriver } from './aiperf/index.ts';
import { commandDriver } from './command/index.ts';
import type { Driver } from './driver.ts';
import { trtllmBenchDriver } from './trtllm-bench/index.ts';

/** To add a driver: its folder, and one line here. */
export const DRIVERS: readonly [Driver, ...Driver[]] = [
  commandDriver,
  trtllmBenchDriver,
  aiperfDriver,
];

export function findDriver(kind: string): Driver | null {
  return DRIVERS.find((driver) => driver.kind === kind) ?? null;
}
