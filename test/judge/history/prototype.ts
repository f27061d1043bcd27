import * as z from 'zod';

import { jsonLines, packedText } from '../../../benchmarks/detection/labelled.ts';
import type { Alarm, CellVerdict, NightAlarm } from '../../../benchmarks/detection/score.ts';

/** What the reference detector printed; see the README of the fixtures. */

const SIGNS = { regression: 1, improvement: -1 } as const;

const direction = z.enum(['regression', 'improvement']);

const placeSchema = z
  .object({ index: z.number(), direction, margin: z.number() })
  .transform((place) => ({ index: place.index, sign: SIGNS[place.direction], margin: place.margin }));

const historySchema = z.object({ id: z.string(), alarms: z.array(placeSchema) });

const nightlySchema = z.object({
  id: z.string(),
  nightly: z.array(
    z
      .object({ night: z.number(), index: z.number(), direction })
      .transform(({ night, index, direction: way }) => ({ night, index, sign: SIGNS[way] })),
  ),
});

const WORDS = { regression: 'larger', improvement: 'smaller', unchanged: 'same', inconclusive: 'unclear' } as const;

const cellSchema = z
  .object({
    id: z.string(),
    verdict: z.enum(['regression', 'improvement', 'unchanged', 'inconclusive']),
    change: z.number(),
    mde: z.number(),
  })
  .transform((cell): PrototypeCell => ({ ...cell, verdict: WORDS[cell.verdict] }));

interface Margin {
  /** At least 1, with three decimals. */
  readonly margin: number;
}

interface PrototypeCell {
  readonly id: string;
  readonly verdict: CellVerdict;
  /** Shares, with five decimals; the common shift is taken off the change. */
  readonly change: number;
  readonly mde: number;
}

export function prototypeAlarms(
  name: 'prototype-histories' | 'prototype-labelled',
): Map<string, readonly (Alarm & Margin)[]> {
  return new Map(jsonLines(packedText(name), historySchema).map(({ id, alarms }) => [id, alarms]));
}

export const prototypeNightAlarms = (): Map<string, readonly NightAlarm[]> =>
  new Map(jsonLines(packedText('prototype-nightly'), nightlySchema).map(({ id, nightly }) => [id, nightly]));

export const prototypeCells = (): Map<string, PrototypeCell> =>
  new Map(jsonLines(packedText('prototype-ab'), cellSchema).map((cell) => [cell.id, cell]));
