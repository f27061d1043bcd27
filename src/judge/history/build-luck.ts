import type { CellHistory } from './noise.ts';

/** A place may be off by this many sweeps. */
const NEAR_SWEEPS = 1;

/**
 * True when a level begins with another build of the same sources: other tactics, not other code. False where builds or
 * sources are not known, or where new sources were built about then too.
 * @param index of the level's first sweep among the measured ones
 */
export function isBuildLuck({ builds, sources }: CellHistory, index: number): boolean {
  if (builds === undefined || sources === undefined) return false;
  let isRebuilt = false;
  for (let at = Math.max(1, index - NEAR_SWEEPS); at <= index + NEAR_SWEEPS; at += 1) {
    const [before, after] = [builds[at - 1] ?? null, builds[at] ?? null];
    if (before === null || after === null || before === after) continue;
    const [from, to] = [sources[at - 1] ?? null, sources[at] ?? null];
    if (from === null || from !== to) return false;
    isRebuilt = true;
  }
  return isRebuilt;
}
