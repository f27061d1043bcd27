import type { StoredEngine } from '../../records/engine.ts';

export interface KeptEngine {
  readonly engine: StoredEngine;
  readonly because: string;
}

export interface CleanUp {
  readonly remove: readonly StoredEngine[];
  /** Those that would have gone, had nothing held them. */
  readonly kept: readonly KeptEngine[];
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/**
 * Which engines go so that the others fit: those used longest ago first.
 * @param engines those used last first
 * @param otherBytes what lies in the folder beside them and stays
 * @param heldBecause why an engine may not go; null when it may
 */
export function enginesToRemove(
  engines: readonly StoredEngine[],
  otherBytes: number,
  maxBytes: number,
  heldBecause: (engine: StoredEngine) => string | null,
): CleanUp {
  const bytesBefore = engines.reduce((sum, { bytes }) => sum + bytes, otherBytes);
  const remove: StoredEngine[] = [];
  const kept: KeptEngine[] = [];
  let bytesAfter = bytesBefore;
  for (const engine of engines.toReversed()) {
    if (bytesAfter <= maxBytes) break;
    const because = heldBecause(engine);
    if (because === null) {
      remove.push(engine);
      bytesAfter -= engine.bytes;
    } else kept.push({ engine, because });
  }
  return { remove, kept, bytesBefore, bytesAfter };
}
