import { setTimeout as sleep } from 'node:timers/promises';

import type { CoolDown } from './requests.ts';

const LOOK_EVERY_MS = 1000;
/** In a warm room a GPU may never get as cool as was asked for. */
const LONGEST_MS = 300_000;

export interface CooledGpu {
  /** In degrees Celsius; null when nobody tells it. */
  readonly temperatureC: () => Promise<number | null>;
  readonly onNote: (note: string) => void;
}

/**
 * Waits before a timed run, no longer than five minutes.
 * @param sleepMs is a test's own clock
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
      onNote('nvidia-smi tells no temperature: nothing is waited for before runs');
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
