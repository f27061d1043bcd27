import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import { FLAG_LABELS, ineligibleFlags } from '../../records/run-flag.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { median, middleOfThree } from '../../statistics/order-statistics.ts';
import type { CellHistory } from '../history/noise.ts';
import { CLOCK_LEVEL, clockLevelMhz, clockOffLevel, leftOutFor } from '../run-trust.ts';
import type { SweepRun } from '../value-rule.ts';

type FitRun = Pick<SweepRun, 'flags' | 'smClockMhz' | 'sweepId'>;

export interface LeftOutRun {
  readonly sweepId: SweepId;
  readonly reason: string;
}

export function fitRuns<Run extends FitRun>(sweeps: readonly Sweep[], runs: readonly Run[], metric: MetricId) {
  const leftOut: LeftOutRun[] = [];
  const fit = runs.filter(({ sweepId, flags }) => {
    const flag = leftOutFor(flags, metric);
    if (flag === null) return true;
    const why = flag.effect === 'barred' ? ineligibleFlags(flags) : [flag];
    leftOut.push({ sweepId, reason: why.map(({ id }) => FLAG_LABELS[id]).join(', ') });
    return false;
  });
  let from = 0;
  const runsBySweep = sweeps.map(({ sweepId }) => {
    const first = from;
    while (fit[from]?.sweepId === sweepId) from += 1;
    return fit.slice(first, from);
  });
  const bySweep = atTheirClock(runsBySweep, leftOut).map((latest) => {
    const trusted = latest.filter(({ flags }) => flags.every(({ effect }) => effect !== 'widened'));
    return trusted.length === 0 ? latest : trusted;
  });
  return { bySweep, leftOut };
}

function atTheirClock<Run extends FitRun>(
  runsBySweep: readonly (readonly Run[])[],
  leftOut: LeftOutRun[],
): readonly (readonly Run[])[] {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const latest of runsBySweep) {
    for (const { smClockMhz } of latest) {
      least = Math.min(least, smClockMhz ?? least);
      most = Math.max(most, smClockMhz ?? most);
    }
  }
  // Usually all clocks are close, so that no run is off its level.
  if (most - least <= CLOCK_LEVEL.off * least) return runsBySweep;
  const clocks = runsBySweep.map(clockOf);
  const { neighborSweeps: near } = CLOCK_LEVEL;
  return runsBySweep.map((latest, place) => {
    const neighbors = [...clocks.slice(Math.max(0, place - near), place), ...clocks.slice(place + 1, place + 1 + near)];
    const level = clockLevelMhz(neighbors);
    return latest.filter((run) => {
      const off = clockOffLevel(run, level);
      if (off !== null) leftOut.push({ sweepId: run.sweepId, reason: off.evidence });
      return off === null;
    });
  });
}

function clockOf(latest: readonly FitRun[]): number | null {
  const known = latest.flatMap(({ smClockMhz }) => smClockMhz ?? []);
  return known.length < latest.length ? null : median(known);
}

export interface CellSweeps {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly history: CellHistory;
  /** Runs of each measured sweep, in the order of `history.places`. */
  readonly runs: readonly (readonly SweepRun[])[];
  readonly leftOut: readonly LeftOutRun[];
}

export function cellSweeps(
  cell: KeyedCell,
  metric: MetricId,
  sweeps: readonly Sweep[],
  all: readonly SweepRun[],
): CellSweeps {
  const { bySweep, leftOut } = fitRuns(sweeps, all, metric);
  const { clock, places, runs } = measuredSweeps(bySweep);
  const values = medianValues(runs, ({ value }) => value);
  return { cell, metric, leftOut, history: { places, values, clock }, runs };
}

/** Sweeps with runs that count, and their facts that do not depend on the metric. */
export function measuredSweeps<Run extends FitRun>(bySweep: readonly (readonly Run[])[]) {
  const places = bySweep.flatMap(({ length }, place) => (length === 0 ? [] : [place]));
  const runs = bySweep.filter(({ length }) => length > 0);
  return { places, runs, clock: runs.map(clockOf) };
}

export function medianValues<Run>(runs: readonly (readonly Run[])[], valueOf: (run: Run) => number): Float64Array {
  const values = new Float64Array(runs.length);
  for (const [place, kept] of runs.entries()) {
    const [a, b, c] = kept;
    const isThree = kept.length === 3 && a !== undefined && b !== undefined && c !== undefined;
    values[place] = isThree ? middleOfThree(valueOf(a), valueOf(b), valueOf(c)) : (median(kept.map(valueOf)) ?? NaN);
  }
  return values;
}
