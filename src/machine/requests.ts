import { setTimeout as sleep } from 'node:timers/promises';

import * as z from 'zod';

import { EnvironmentLackingError, UsageError } from '../errors.ts';
import type { Immutable } from '../records/scalars.ts';
import { readDurationS } from '../text/units.ts';

/** The clock that the board sustains at its power limit, its highest clock, or a frequency in MHz. */
export const clockRequestSchema = z.union([z.enum(['base', 'max']), z.number()]);

export type ClockRequest = z.infer<typeof clockRequestSchema>;

/** `base`, `max`, `1590` or `1590 MHz`; null for anything else. */
export function readClockRequest(text: string): ClockRequest | null {
  if (text === 'base' || text === 'max') return text;
  const mhz = Number(/^(\d{1,5})\s*(?:MHz)?$/i.exec(text.trim())?.[1] ?? 0);
  return mhz > 0 ? mhz : null;
}

export type ChosenClocks = ReturnType<typeof chooseClocks>;

/**
 * The clocks to request from nvidia-smi: bounds for `-lgc`, and the upper limit of the SM clock, null for `base`.
 * `base` is NVML's limit `tdp`, whose frequency only the driver knows. The default applications clock differs on newer
 * boards: on an H200 it is the highest.
 * @param supported graphics clocks in MHz, descending; empty if the driver lists none
 * @param which GPU, in messages
 * @throws UsageError for a frequency that the GPU does not support
 * @throws EnvironmentLackingError when the driver lists no clocks, so that nothing can be checked
 */
export function chooseClocks(request: ClockRequest, supported: readonly number[], which: string) {
  if (request === 'base') return { bounds: 'tdp,tdp', limitMhz: null, policy: 'locked base' };
  const [highest] = supported;
  const lowest = supported.at(-1);
  if (highest === undefined || lowest === undefined) {
    throw new EnvironmentLackingError(`clocks of ${which} cannot be checked: nvidia-smi lists none that it supports`);
  }
  const mhz = request === 'max' ? highest : request;
  if (!supported.includes(mhz)) {
    const near = [supported.findLast((clock) => clock > mhz), supported.find((clock) => clock < mhz)];
    const nearest = near.filter((clock) => clock !== undefined).join(' and ');
    throw new UsageError(
      `clocks of ${which}: ${mhz} MHz is not one of its clocks: the nearest are ${nearest} MHz (it has ${lowest} to ${highest} MHz)`,
    );
  }
  return { bounds: `${mhz},${mhz}`, limitMhz: mhz, policy: `locked ${mhz} MHz` };
}

/** The lock that a clock policy names; null for floating or unknown clocks. */
export function lockOf(policy: string | null): string | null {
  return policy?.startsWith('locked') === true ? policy : null;
}

/** Limit of a wait for a temperature that states none. */
export const DEFAULT_LONGEST_S = 300;

/** Wait before each timed run, so that the previous one does not heat it up. */
export const coolDownSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('pause'), seconds: z.number() }),
  /** Wait until the GPU is this cool, in degrees Celsius: in a warm room it may never be, so not for ever. */
  z.object({ kind: z.literal('temperature'), maxC: z.number(), longestS: z.number().default(DEFAULT_LONGEST_S) }),
]);

export type CoolDown = Immutable<z.infer<typeof coolDownSchema>>;

const LOWEST_C = 20;
const HIGHEST_C = 100;
const LONGEST_S = 3600;

/** `10s`, `1m`, `45C` or `45C/2m`; null for anything else. */
export function readCoolDown(text: string): CoolDown | null {
  const [, celsius, time] = /^(?:(\d+(?:\.\d+)?)\s*\u00b0?C)?(?:(?:^|\/)(.+))?$/i.exec(text.trim()) ?? [];
  const seconds = time === undefined ? DEFAULT_LONGEST_S : readDurationS(time.toLowerCase());
  if (seconds === null || seconds > LONGEST_S) return null;
  if (celsius === undefined) return time === undefined ? null : { kind: 'pause', seconds };
  const maxC = Number(celsius);
  return maxC >= LOWEST_C && maxC <= HIGHEST_C ? { kind: 'temperature', maxC, longestS: seconds } : null;
}

const LOOK_EVERY_MS = 1000;

/**
 * Waits before a timed run.
 * @param gpu `temperatureC` is in degrees Celsius; null if unknown
 * @param sleepMs replaces the clock in tests
 */
export async function coolDown(
  request: CoolDown,
  { onNote, temperatureC }: { temperatureC: () => Promise<number | null>; onNote: (note: string) => void },
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
    if (waitedMs >= request.longestS * 1000) {
      onNote(`the GPU is still at ${celsius} °C after ${request.longestS} s: measured anyway`);
      return;
    }
    await sleepMs(LOOK_EVERY_MS);
  }
}

/** CPUs as Linux lists them: `cpus:0-3,8`. */
export const CPU_SET = /^cpus:\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*$/;

/** What a process is bound to: CPUs and memory of one NUMA node, the GPU's or a named one, or CPUs. */
export const numaSchema = z.union([z.enum(['auto', 'off']), z.number(), z.string().regex(CPU_SET)]);

export type NumaPolicy = z.infer<typeof numaSchema>;

/** What starts a program on a NUMA node or on CPUs, with memory next to them. */
export function boundTo(where: number | string): string[] {
  return typeof where === 'number'
    ? ['numactl', `--cpunodebind=${where}`, `--membind=${where}`]
    : ['numactl', `--physcpubind=${where.slice('cpus:'.length)}`, '--localalloc'];
}

/** `auto`, `off`, the number of a node, or `cpus:0-15`; null for anything else. */
export function readNumaPolicy(text: string): NumaPolicy | null {
  if (text === 'auto' || text === 'off' || CPU_SET.test(text)) return text;
  return /^\d{1,3}$/.test(text) ? Number(text) : null;
}
