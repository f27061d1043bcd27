import { median } from '../statistics/median.ts';
import type { RunFlag } from '../records/run-flag.ts';

export const CLOCK_LEVEL = {
  /** Fewer known clocks are no level. */
  leastKnown: 3,
  /** A clock this far off is another state of the GPU: clocks wander by one or two steps of 15 MHz. */
  off: 0.04,
  /** Nights on either side that say what the level of a night is: a clock that came to stay becomes the level. */
  nightsBeside: 5,
} as const;

/** The SM clock at which a cell runs, in MHz; null when too few of its runs know it. */
export function clockLevelMhz(clocks: readonly (number | null)[]): number | null {
  const known = clocks.filter((clock) => clock !== null);
  return known.length < CLOCK_LEVEL.leastKnown ? null : median(known);
}

/** A run at another clock than its cell has. Under the power cap a clock wanders, and the cap is what explains it. */
export function clockOffLevel(
  run: { readonly smClockMhz: number | null; readonly flags: readonly Pick<RunFlag, 'id'>[] },
  levelMhz: number | null,
): RunFlag | null {
  const { smClockMhz, flags } = run;
  if (smClockMhz === null || levelMhz === null) return null;
  const off = smClockMhz / levelMhz - 1;
  if (Math.abs(off) <= CLOCK_LEVEL.off || flags.some(({ id }) => id === 'powerLimited')) {
    return null;
  }
  return {
    id: 'clockOffLevel',
    effect: 'excluded',
    value: off * 100,
    evidence: `SM clock ${smClockMhz.toFixed(0)} MHz, this cell's level is ${levelMhz.toFixed(0)} MHz`,
  };
}
