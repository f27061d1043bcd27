import * as z from 'zod';

import type { Immutable } from '../records/scalars.ts';

/** What is waited for before each timed run, so that no run pays for the heat of the one before. */
export const coolDownSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('pause'), seconds: z.number() }),
  /** Until the GPU is as cool as that, in degrees Celsius. */
  z.object({ kind: z.literal('temperature'), maxC: z.number() }),
]);

export type CoolDown = Immutable<z.infer<typeof coolDownSchema>>;

const LOWEST_C = 20;
const HIGHEST_C = 100;
const LONGEST_S = 3600;

/** `10s`, `1m` or `45C`; null for anything else. */
export function readCoolDown(text: string): CoolDown | null {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(s|m|°?C)$/i.exec(text.trim()) ?? [];
  if (number === undefined || unit === undefined) return null;
  const value = Number(number);
  if (/c$/i.test(unit)) {
    return value >= LOWEST_C && value <= HIGHEST_C ? { kind: 'temperature', maxC: value } : null;
  }
  const seconds = /m/i.test(unit) ? value * 60 : value;
  return seconds > 0 && seconds <= LONGEST_S ? { kind: 'pause', seconds } : null;
}
