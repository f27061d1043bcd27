import { median } from '../../statistics/median.ts';
import type { CellNoise } from './cell-noise.ts';
import { RULES } from './settings.ts';

/** The logs of the runs of one sweep that agree: a run far from the median is none. Of two far apart the one nearer to the level counts. */
export function agreeingRuns(logs: readonly number[], noise: CellNoise, level: number | null): readonly number[] {
  if (logs.length < 2) return logs;
  const limit = Math.max(RULES.runSd * noise.runSd, RULES.runLeast);
  const [a = 0, b = 0] = logs;
  if (logs.length === 2) {
    if (Math.abs(a - b) <= 1.4 * limit) return logs;
    if (level === null) return [Math.min(a, b)];
    return [Math.abs(a - level) < Math.abs(b - level) ? a : b];
  }
  const middle = median(logs) ?? 0;
  return logs.filter((log) => Math.abs(log - middle) <= limit);
}
