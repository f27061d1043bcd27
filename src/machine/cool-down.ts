import { setTimeout as sleep } from 'node:timers/promises';

import type { CoolDown } from './requests.ts';

const LOOK_EVERY_MS = 1000;
/** In a warm room a GPU may never reach the requested temperature. */
const LONGEST_MS = 300_000;

export interface CooledGpu {
  /** Temperature in degrees Celsius; null if unknown. */
  readonly temperatureC: () => Promise<number | null>;
  readonly onNote: (note: string) => void;
}

/**
 * Waits before a timed run, at most five minutes.
 * @param sleepMs replaces the clock in tests
 */
export async function coolDown(
  request: CoolDown,
  { onNote, temperatureC }: CooledGpu,
  signal: AbortSignal,
  sleepMs: (ms: number) => Promise<unknown> = (ms) => sleep(ms, undefined, { signal }),
): Promise<void> {
  if (request.kind === 'pause') {
    await sleepMs(request.seconds * 1000);
    return;
  }
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const celsius = await temperatureC();
    if (celsius === null) {
      onNote('nvidia-smi reports no temperature: bench does not wait before runs');
      return;
    }
    if (celsius <= request.maxC) return;
    if (waitedMs >= LONGEST_MS) {
      onNote(`the GPU is still at ${celsius} °C after ${LONGEST_MS / 60_000} min: measured anyway`);
      return;
    }
    await sleepMs(LOOK_EVERY_MS);
  }
}
