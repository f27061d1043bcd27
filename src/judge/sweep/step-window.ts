import type { CellNoise } from './cell-noise.ts';
import type { CellSweep } from './cell-sweep.ts';
import type { Level } from './level.ts';
import { RULES } from './settings.ts';

export type WindowChange =
  | { readonly kind: 'creep' }
  | { readonly kind: 'step'; readonly window: number; readonly mean: number };

/**
 * The likeliest small step: the mean of the last 2 to 10 sweeps against the sweeps at this level before. The noise is what
 * was known before the window. Where a line fits as well as the step, the level crept.
 */
export function stepOfWindow(level: Level, noise: CellNoise, { night, share }: CellSweep): WindowChange | null {
  let least = RULES.windowP * share;
  let best: WindowChange | null = null;
  for (let window = 2; window <= Math.min(RULES.longestWindow, level.count - 1); window += 1) {
    const old = level.meanBefore(window);
    const count = level.count - window;
    const mean = windowMean(level, window, old, RULES.clipSd * noise.sd);
    if (Math.abs(mean) < 2.5 * noise.sd * Math.sqrt(1 / window + 1 / count)) continue;
    if ((level.valueAt(1) - old) * mean < 0.3 * mean * mean) continue;
    if (agreeing(level, window, old, 0.6 * mean) * 2 <= window) continue;
    noise.refreshWith(window, -1);
    const { sd } = noise;
    const isLarge = Math.abs(mean) > RULES.windowMeanSd * Math.hypot(sd, night.sd);
    const p = isLarge ? noise.tail(mean, 1 / window + 1 / count, night.variance / window, window) : 1;
    noise.refreshWith(window, 1);
    if (p >= least) continue;
    if (level.count >= RULES.lineSweeps && level.restOfStep(window) > level.line().rest - RULES.lineGain * sd * sd) {
      const crept = Math.abs(level.newestMiddle - level.startMean);
      if (crept < RULES.driftSd * Math.hypot(noise.sd, night.sd)) continue;
      return { kind: 'creep' };
    }
    least = p;
    best = { kind: 'step', window, mean };
  }
  return best;
}

/** Mean difference of the window from the level before, no sweep counted by more than the limit. */
function windowMean(level: Level, window: number, old: number, limit: number): number {
  let sum = 0;
  for (let back = 1; back <= window; back += 1) {
    sum += Math.max(-limit, Math.min(limit, level.valueAt(back) - old));
  }
  return sum / window;
}

/** Sweeps of the window that are off by at least so much. */
function agreeing(level: Level, window: number, old: number, off: number): number {
  let count = 0;
  for (let back = 1; back <= window; back += 1) {
    if ((level.valueAt(back) - old) * off >= off * off) count += 1;
  }
  return count;
}
