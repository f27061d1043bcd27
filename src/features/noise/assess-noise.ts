import { compareCells } from '../../judge/compare/compare-cells.ts';
import { logsOf, noiseOf } from '../../judge/history/noise.ts';
import { squaresAround } from '../../judge/run-noise.ts';
import { HISTORY } from '../../judge/history/settings.ts';
import { noiseKindOf } from '../../records/cell.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { median } from '../../statistics/median.ts';
import { aboutCell } from '../../text/cell-label.ts';
import { type CellSeries, nightlyValues, type SweepRuns } from './cell-series.ts';
import {
  countFalseAlarms,
  judgeSame,
  halvesOfSweeps,
  neighbouringSweeps,
  pastBefore,
  type SameMatrix,
} from './false-alarms.ts';
import type { NoiseOutput, NoisyCell } from './output.ts';
import type { RealChanges } from './real-changes.ts';
import { timerNoise } from './timer-noise.ts';
import { findTwoStates } from './two-states.ts';
import { attainableChanges, type CellScatter, repeatsFor, visibleChanges } from './visible-change.ts';

type Noise = Pick<NoiseOutput, 'repeats' | 'mdePercent' | 'falseAlarms' | 'wantPercent' | 'effort' | 'cells'>;

/**
 * @param sweeps number of sweeps in the series
 * @param wallTimesS wall times of each cell's runs in seconds, by key
 */
export function assessNoise(
  series: readonly CellSeries[],
  sweeps: number,
  wantPercent: number,
  wallTimesS: ReadonlyMap<string, readonly number[]>,
  changes: RealChanges,
): Noise {
  const { same, leftOut } = neighbouringSweeps(series, sweeps, changes);
  const nights = nightsBetween(same);
  const scatters = series.flatMap((one): CellScatter[] => {
    const sigma = runSigma(one.sweeps);
    const past = pastBefore(one, Number.POSITIVE_INFINITY, one.sweeps.at(-1)?.values ?? []);
    const { key } = one.cell;
    return sigma === null ? [] : [{ key, sigma, past, nights: nights.get(key) ?? 0, kind: noiseKindOf(one.cell) }];
  });
  const visible = presentChanges(series, scatters);
  const wanted = new Map(repeatsFor(scatters, wantPercent).map((repeats, index) => [scatters[index]?.key, repeats]));
  const attainable = new Map(attainableChanges(scatters).map((percent, index) => [scatters[index]?.key, percent]));
  const cells = series.map((one): NoisyCell => {
    const run = runSigma(one.sweeps);
    const night = nightSigma(one.sweeps);
    const values = one.sweeps.flatMap((sweep) => sweep.values);
    const typicalRepeats = median(one.sweeps.map((sweep) => sweep.values.length)) ?? 0;
    return {
      ...aboutCell(one.cell, one.metric),
      runs: values.length,
      sweeps: one.sweeps.length,
      repeats: repeatsOf(one),
      runPercent: run === null ? null : percentOfLog(run),
      nightPercent: night === null ? null : percentOfLog(night),
      larger: largerSource(run, night, one.sweeps.length, typicalRepeats),
      mdePercent: visible.get(one.cell.key) ?? null,
      repeatsWanted: wanted.get(one.cell.key) ?? null,
      attainablePercent: attainable.get(one.cell.key) ?? null,
      wallS: median(wallTimesS.get(one.cell.key) ?? []),
      twoStates: findTwoStates(values),
    };
  });
  const halves = judgeSame(halvesOfSweeps(series, sweeps));
  const neighbours = judgeSame(same);
  return {
    ...summaryOf(cells),
    falseAlarms: { halves: countFalseAlarms(halves), neighbours: countFalseAlarms(neighbours), leftOut },
    wantPercent,
    effort: effortOf(cells),
    cells,
  };
}

function repeatsOf({ sweeps }: CellSeries): number {
  return sweeps.at(-1)?.values.length ?? 0;
}

/** This many of the newest pairs of sweeps say what two of them differ by. */
const NIGHT_PAIRS = 5;

/** Sweep-to-sweep standard deviation used by comparisons without a change, log scale, by cell key. */
function nightsBetween(same: readonly SameMatrix[]): Map<string, number> {
  const compared = same.slice(0, NIGHT_PAIRS).flatMap((sides) => compareCells(sides).cells);
  return new Map(
    [...Map.groupBy(compared, ({ cellKey }) => cellKey)].map(([key, cells]) => [
      key,
      median(cells.map(({ noise }) => Math.log1p((noise?.nightPercent ?? 0) / 100))) ?? 0,
    ]),
  );
}

/** At the current repeats of each cell, by key; cells without repeats never get a verdict. */
function presentChanges(series: readonly CellSeries[], scatters: readonly CellScatter[]): Map<string, number> {
  const found = new Map<string, number>();
  const places = new Map(scatters.map(({ key }, place) => [key, place]));
  const byRepeats = Map.groupBy(series, repeatsOf);
  for (const [repeats, group] of byRepeats) {
    if (repeats < 2) continue;
    const changes = visibleChanges(scatters, repeats);
    for (const { cell } of group) {
      const change = changes[places.get(cell.key) ?? -1];
      if (change !== undefined) found.set(cell.key, change);
    }
  }
  return found;
}

function summaryOf(cells: readonly NoisyCell[]): Pick<Noise, 'repeats' | 'mdePercent'> {
  const known = cells.filter(({ mdePercent }) => mdePercent !== null);
  const percents = known.flatMap(({ mdePercent }) => mdePercent ?? []);
  const typical = median(percents);
  return {
    repeats: typical === null ? null : Math.floor(median(known.map(({ repeats }) => repeats)) ?? 0),
    mdePercent: typical === null ? null : { typical, least: Math.min(...percents), most: Math.max(...percents) },
  };
}

function effortOf(cells: readonly NoisyCell[]): Noise['effort'] {
  const counted = cells.filter(({ repeatsWanted }) => repeatsWanted !== null);
  const sum = (runsOf: (cell: NoisyCell) => number) => {
    const runs = counted.reduce((total, cell) => total + runsOf(cell), 0);
    const seconds = counted.reduce((total, cell) => total + runsOf(cell) * (cell.wallS ?? NaN), 0);
    return { runs, gpuMinutes: Number.isNaN(seconds) ? null : seconds / 60 };
  };
  return {
    cells: counted.length,
    now: sum(({ repeats }) => repeats),
    wanted: sum(({ repeatsWanted }) => repeatsWanted ?? 0),
  };
}

/** Standard deviation of single runs around the mean of their sweep, log scale; null without repeats. */
export function runSigma(sweeps: readonly SweepRuns[]): number | null {
  const squares = sweeps.reduce((sum, { values }) => sum + squaresAround(values), 0);
  const degrees = sweeps.reduce((sum, { values }) => sum + values.length - 1, 0);
  return degrees === 0 ? null : Math.sqrt(squares / degrees);
}

/** Standard deviation of a sweep's value as the gate sees it, log scale; null with few sweeps. */
export function nightSigma(sweeps: readonly SweepRuns[]): number | null {
  if (sweeps.length < HISTORY.leastNights) return null;
  const history = nightlyValues(sweeps);
  return Math.max(noiseOf(logsOf(history)).sigma, timerNoise(history.values));
}

/**
 * Where the scatter of nights comes from: `nights` when it is clearly more than half not that of the runs in them, so
 * that more repeats would not help much. Few nights must differ by more: of machines whose nights are all equal, one in
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
