import { commandDriver } from './command/index.ts';
import type { Driver } from './driver.ts';

/** To add a driver: its folder, and one line here. */
export const DRIVERS: readonly [Driver, ...Driver[]] = [commandDriver];

export function findDriver(kind: string): Driver | null {
  return DRIVERS.find((driver) => driver.kind === kind) ?? null;
}
