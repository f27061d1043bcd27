import { type KeyedCell, noiseKindOf } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import { median } from '../../statistics/median.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import type { CellSeries } from './cell-series.ts';
import { countFalseAlarms, type FalseAlarms, judgeSame } from './false-alarms.ts';
import { halvesOfSweeps, neighbouringSweeps, pastBefore, type SameMatrix } from './same-against-same.ts';
import { largerSource, nightSigma, runSigma } from './scatter.ts';
import { findTwoStates, type TwoStates } from './two-states.ts';
import { attainableChanges, type CellScatter, repeatsFor, visibleChanges } from './visible-change.ts';

export interface NoisyCell {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  /** Measured runs in all sweeps, and the sweeps that have some. */
  readonly runs: number;
  readonly sweeps: number;
  /** Measured runs in the newest of them. */
  readonly repeats: number;
  /** Standard deviation of a run within its sweep, in percent; null without repeats. */
  readonly runPercent: number | null;
  /** Standard deviation of the value of a night, in percent; null with few nights. */
  readonly nightPercent: number | null;
  readonly larger: 'runs' | 'nights' | null;
  /** The smallest change that two sweeps with the present repeats would show; null where nothing says it. */
  readonly visiblePercent: number | null;
  /** Runs a side that show the wanted change; null when more than 100, or where nothing says it. */
  readonly repeatsWanted: number | null;
  /** The smallest change that any number of runs would show, as nights differ; null where nothing says it. */
  readonly attainablePercent: number | null;
  /** Median time that one run takes, in seconds. */
  readonly wallS: number | null;
  readonly twoStates: TwoStates | null;
}

/** What one sweep takes. */
export interface Effort {
  readonly runs: number;
  /** Null where the times of some runs are not known. */
  readonly gpuMinutes: number | null;
}

export interface Noise {
  readonly cells: readonly NoisyCell[];
  /** Runs a side that a typical cell has. */
  readonly repeats: number | null;
  readonly visiblePercent: { readonly typical: number; readonly least: number; readonly most: number } | null;
  readonly falseAlarms: {
    readonly all: FalseAlarms;
    /** Of each sweep against itself. */
    readonly halves: FalseAlarms;
    readonly neighbours: FalseAlarms;
  };
  /** Of the cells of which it is known how many repeats would show the wanted change. */
  readonly effort: { readonly cells: number; readonly now: Effort; readonly wanted: Effort };
}

/**
 * How far the machine and the matrix can be trusted.
 * @param sweeps how many there are in the series
 * @param wallTimesS seconds that the runs of each cell took, by its key
 */
export function assessNoise(
  series: readonly CellSeries[],
  sweeps: number,
  wantPercent: number,
  wallTimesS: ReadonlyMap<string, readonly number[]>,
): Noise {
  const same = neighbouringSweeps(series, sweeps);
  const nights = nightsBetween(same);
  const scatters = series.flatMap((one) => scatterOf(one, nights.get(one.cell.key) ?? 0));
  const visible = presentChanges(series, scatters);
  const wanted = new Map(repeatsFor(scatters, wantPercent).map((repeats, index) => [scatters[index]?.key, repeats]));
  const attainable = new Map(attainableChanges(scatters).map((percent, index) => [scatters[index]?.key, percent]));
  const cells = series.map((one): NoisyCell => {
    const run = runSigma(one.sweeps);
    const night = nightSigma(one.sweeps);
    const values = one.sweeps.flatMap((sweep) => sweep.values);
    const typicalRepeats = median(one.sweeps.map((sweep) => sweep.values.length)) ?? 0;
    return {
      cell: one.cell,
      metric: one.metric,
      runs: values.length,
      sweeps: one.sweeps.length,
      repeats: repeatsOf(one),
      runPercent: percentOf(run),
      nightPercent: percentOf(night),
      larger: largerSource(run, night, one.sweeps.length, typicalRepeats),
      visiblePercent: visible.get(one.cell.key) ?? null,
      repeatsWanted: wanted.get(one.cell.key) ?? null,
      attainablePercent: attainable.get(one.cell.key) ?? null,
      wallS: median(wallTimesS.get(one.cell.key) ?? []),
      twoStates: findTwoStates(values),
    };
  });
  const halves = judgeSame(halvesOfSweeps(series, sweeps));
  const neighbours = judgeSame(same);
  return {
    cells,
    ...summaryOf(cells),
    falseAlarms: {
      all: countFalseAlarms([...halves, ...neighbours]),
      halves: countFalseAlarms(halves),
      neighbours: countFalseAlarms(neighbours),
    },
    effort: effortOf(cells),
  };
}

function repeatsOf({ sweeps }: CellSeries): number {
  return sweeps.at(-1)?.values.length ?? 0;
}

/** So many of the newest pairs of sweeps say what two of them differ by. */
const NIGHT_PAIRS = 5;

/** What comparisons of sweeps without a change take two nights to differ by, in logarithms, by the key of the cell. */
function nightsBetween(same: readonly SameMatrix[]): Map<string, number> {
  const compared = same.slice(0, NIGHT_PAIRS).flatMap((sides) => compareCells(sides).cells);
  return new Map(
    [...Map.groupBy(compared, ({ cellKey }) => cellKey)].map(([key, cells]) => [
      key,
      median(cells.map(({ noise }) => Math.log1p((noise?.nightPercent ?? 0) / 100))) ?? 0,
    ]),
  );
}

function scatterOf(series: CellSeries, nights: number): CellScatter[] {
  const sigma = runSigma(series.sweeps);
  const newest = series.sweeps.at(-1)?.values ?? [];
  const past = pastBefore(series, Number.POSITIVE_INFINITY, newest);
  return sigma === null ? [] : [{ key: series.cell.key, sigma, past, nights, kind: noiseKindOf(series.cell) }];
}

/** At the repeats that each cell has now, by its key; cells without repeats never get a verdict. */
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

function percentOf(sigma: number | null): number | null {
  return sigma === null ? null : Math.expm1(sigma) * 100;
}

function summaryOf(cells: readonly NoisyCell[]): Pick<Noise, 'repeats' | 'visiblePercent'> {
  const known = cells.filter(({ visiblePercent }) => visiblePercent !== null);
  const percents = known.flatMap(({ visiblePercent }) => visiblePercent ?? []);
  const typical = median(percents);
  return {
    repeats: typical === null ? null : Math.floor(median(known.map(({ repeats }) => repeats)) ?? 0),
    visiblePercent: typical === null ? null : { typical, least: Math.min(...percents), most: Math.max(...percents) },
  };
}

function effortOf(cells: readonly NoisyCell[]): Noise['effort'] {
  const counted = cells.filter(({ repeatsWanted }) => repeatsWanted !== null);
  const sum = (runsOf: (cell: NoisyCell) => number): Effort => {
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
