import { HISTORY } from '../../judge/history/settings.ts';
import { logsOf, noiseFloor, noiseOf } from '../../judge/history/noise.ts';
import type { SweepRuns } from './cell-series.ts';
import { nightlyValues } from './same-against-same.ts';

/** Standard deviation of single runs around the mean of their sweep, in logarithms; null without repeats. */
export function runSigma(sweeps: readonly SweepRuns[]): number | null {
  let squares = 0;
  let degrees = 0;
  for (const { values } of sweeps) {
    const logs = values.map(Math.log);
    const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
    squares += logs.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    degrees += logs.length - 1;
  }
  return degrees === 0 ? null : Math.sqrt(squares / degrees);
}

/** Standard deviation of the value of one night, as the nightly gate sees it, in logarithms; null for few nights. */
export function nightSigma(sweeps: readonly SweepRuns[]): number | null {
  if (sweeps.length < HISTORY.leastNights) return null;
  const history = nightlyValues(sweeps);
  return noiseOf(logsOf(history), noiseFloor(history)).sigma;
}

/**
 * Where the scatter of nights comes from: `nights` when it is clearly more than half not that of the runs in them, so
 * that more repeats would not help much. Few nights must differ by more: of machines whose nights are all alike, one in
 * twenty is taken for another (by simulation). Null when either is not known.
 * @param nights how many
 * @param repeats runs a night
 */
export function largerSource(
  run: number | null,
  night: number | null,
  nights: number,
  repeats: number,
): 'runs' | 'nights' | null {
  if (run === null || night === null || repeats === 0) return null;
  return (night ** 2 * repeats) / run ** 2 > 2 + 32 / nights ? 'nights' : 'runs';
}
