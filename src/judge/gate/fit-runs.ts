import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import { FLAG_LABELS, ineligibleFlags } from '../../records/outcome.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { median } from '../../statistics/order-statistics.ts';
import { CLOCK_LEVEL, clockLevelMhz, clockOffLevel, leftOutFor } from '../run-trust.ts';
import type { SweepRun } from '../value-rule.ts';

type FitRun = Pick<SweepRun, 'flags' | 'smClockMhz' | 'sweepId'>;

export type LeftOutRun = { readonly sweepId: SweepId; readonly reason: string };

/** The runs that count by sweep, and facts of these sweeps that do not depend on the metric. */
export function fitSweeps<Run extends FitRun>(sweeps: readonly Sweep[], all: readonly Run[], metric: MetricId) {
  const leftOut: LeftOutRun[] = [];
  const fit = all.filter(({ sweepId, flags }) => {
    const flag = leftOutFor(flags, metric);
    if (flag === null) return true;
    const why = flag.effect === 'barred' ? ineligibleFlags(flags) : [flag];
    leftOut.push({ sweepId, reason: why.map(({ id }) => FLAG_LABELS[id]).join(', ') });
    return false;
  });
  const bySweepId = Map.groupBy(fit, ({ sweepId }) => sweepId);
  const runsBySweep = sweeps.map(({ sweepId }) => bySweepId.get(sweepId) ?? []);
  const known = runsBySweep.flatMap((latest) => latest.flatMap(({ smClockMhz }) => smClockMhz ?? []));
  // Usually all clocks are close, so that no run is off its level.
  const isSteady = Math.max(...known) <= (1 + CLOCK_LEVEL.off) * Math.min(...known);
  const clocks = isSteady ? [] : runsBySweep.map(clockOf);
  const { neighborSweeps: near } = CLOCK_LEVEL;
  const bySweep = runsBySweep.map((latest, place) => {
    const neighbors = [...clocks.slice(Math.max(0, place - near), place), ...clocks.slice(place + 1, place + 1 + near)];
    const level = clockLevelMhz(neighbors);
    const atClock = latest.filter((run) => {
      const off = clockOffLevel(run, level);
      if (off === null || leftOutFor([off], metric) === null) return true;
      leftOut.push({ sweepId: run.sweepId, reason: off.evidence });
      return false;
    });
    const trusted = atClock.filter(({ flags }) => flags.every(({ effect }) => effect !== 'widened'));
    return trusted.length === 0 ? atClock : trusted;
  });
  const places = bySweep.flatMap(({ length }, place) => (length === 0 ? [] : [place]));
  const runs = bySweep.filter(({ length }) => length > 0);
  return { leftOut, places, runs, clock: runs.map(clockOf) };
}

/** Median SM clock of the runs of a sweep; null unless all are known. */
export function clockOf(latest: readonly Pick<FitRun, 'smClockMhz'>[]): number | null {
  const known = latest.flatMap(({ smClockMhz }) => smClockMhz ?? []);
  return known.length < latest.length ? null : median(known);
}

export type CellSweeps = ReturnType<typeof cellSweeps>;

/** `runs`: those of each measured sweep, in the order of `history.places`. */
export function cellSweeps(cell: KeyedCell, metric: MetricId, sweeps: readonly Sweep[], all: readonly SweepRun[]) {
  const { clock, leftOut, places, runs } = fitSweeps(sweeps, all, metric);
  const values = medianValues(runs, ({ value }) => value);
  return { cell, metric, leftOut, history: { places, values, clock }, runs };
}

export function medianValues<Run>(runs: readonly (readonly Run[])[], valueOf: (run: Run) => number): Float64Array {
  return Float64Array.from(runs.map((kept) => median(kept.map(valueOf)) ?? NaN));
}
