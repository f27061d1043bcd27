import { type KnownNoise, visibleChange } from '../../judge/detectable-effect.ts';
import { logsOf, noiseOf } from '../../judge/history/noise.ts';
import { HISTORY } from '../../judge/history/settings.ts';
import { squaresAround } from '../../judge/run-noise.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { median } from '../../statistics/median.ts';
import { aboutCell } from '../../text/cell-label.ts';
import { type BuiltNoiseRun, buildPercentOf } from './build-luck.ts';
import { type CellSeries, nightlyValues, type SweepRuns } from './cell-series.ts';
import { type NoisyCell, SHOWN_RUNS } from './output.ts';
import { timerNoise } from './timer-noise.ts';

/** What each cell scatters by, and what is visible in spite of it, among all of them. */
export function noisyCells(series: readonly CellSeries[], builtRuns: readonly BuiltNoiseRun[]): NoisyCell[] {
  const byCell = Map.groupBy(builtRuns, ({ cellKey }) => cellKey);
  return series.map(({ cell, metric, sweeps }) => {
    const noise = noiseOfSweeps(sweeps);
    return {
      ...aboutCell(cell, metric),
      runs: sweeps.reduce((sum, { values }) => sum + values.length, 0),
      sweeps: sweeps.length,
      runPercent: percentOrNull(noise.run),
      sweepPercent: percentOrNull(noise.sweep),
      buildPercent: buildPercentOf(byCell.get(cell.key) ?? [], metric),
      visible: SHOWN_RUNS.map((runs) => ({ runs, percent: percentOrNull(visibleChange(noise, runs, series.length)) })),
    };
  });
}

function percentOrNull(deviation: number | null): number | null {
  return deviation === null ? null : percentOfLog(deviation);
}

/** Excess variance of a median over a mean, for normal values. */
const MEDIAN_VARIANCE = Math.PI / 2;

/** Of single runs around the mean of their sweep, and of the values of sweeps beyond them, without lasting changes. */
function noiseOfSweeps(sweeps: readonly SweepRuns[]): KnownNoise {
  const squares = sweeps.reduce((sum, { values }) => sum + squaresAround(values), 0);
  const within = sweeps.reduce((sum, { values }) => sum + values.length - 1, 0);
  const run = within === 0 ? null : Math.sqrt(squares / within);
  if (sweeps.length < HISTORY.leastNights) return { run, sweep: null, degrees: within };
  const history = nightlyValues(sweeps);
  const sigma = Math.max(noiseOf(logsOf(history)).sigma, timerNoise(history.values));
  const runs = median(sweeps.map(({ values }) => values.length)) ?? 1;
  const byRuns = (runs > 2 ? MEDIAN_VARIANCE : 1) * ((run ?? 0) ** 2 / runs);
  return { run, sweep: Math.sqrt(Math.max(0, sigma ** 2 - byRuns)), degrees: Math.max(within, sweeps.length - 1) };
}
