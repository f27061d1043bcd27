import type { BuildFacts } from './log/parsed-log.ts';

/** Remarks that every log of their kind has: they are stored for their number, and are no hint to anybody. */
export const REMARKS_FOR_NUMBERS = ['engine_loaded_s', 'engine_refitted_ms'] as const;

export type RemarkForNumber = (typeof REMARKS_FOR_NUMBERS)[number];

export function remarkNumbers({
  deserializedS,
  refitMs,
}: BuildFacts): Readonly<Record<RemarkForNumber, number | null>> {
  return { engine_loaded_s: deserializedS, engine_refitted_ms: refitMs };
}
