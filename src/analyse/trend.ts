import { median } from './median.ts';

export const TREND_UNITS = ['run', 'sweep', 'night', 'commit'] as const;

/** What one step of the time axis is. */
export type TrendUnit = (typeof TREND_UNITS)[number];

export interface TrendRun {
  readonly runId: string;
  readonly sweepId: string;
  /** UTC in ISO 8601; null for logs that do not say it. */
  readonly startedAt: string | null;
  readonly commit: string | null;
  readonly dirty: boolean | null;
  readonly value: number;
}

export interface TrendStep {
  /** Night, commit, sweep or run: what the label is made from. */
  readonly id: string;
  readonly sweepId: string | null;
  /** Median of the runs of this step; null where nothing was measured. */
  readonly value: number | null;
  readonly runs: number;
}

const ENOUGH_SWEEPS = 8;
const ENOUGH_NIGHTS = 3;

/** Nights when there are enough of them, else sweeps, else single runs. */
export function chooseUnit(runs: readonly TrendRun[]): TrendUnit {
  const sweeps = new Set(runs.map(({ sweepId }) => sweepId));
  const starts = sweepStarts(runs);
  const nights = new Set(runs.map((run) => nightOf(run, starts)));
  if (sweeps.size < ENOUGH_SWEEPS) return 'run';
  return nights.size >= ENOUGH_NIGHTS ? 'night' : 'sweep';
}

/** @param runs of one cell, the oldest first */
export function trendSteps(runs: readonly TrendRun[], unit: TrendUnit, last: number): TrendStep[] {
  if (unit === 'run') {
    const steps = runs.map(({ runId, sweepId, value }) => ({ id: runId, sweepId, value, runs: 1 }));
    return steps.slice(-last);
  }
  const starts = sweepStarts(runs);
  const groups = Map.groupBy(runs, (run) => idOf(run, unit, starts));
  const steps = [...groups].map(([id, group]): TrendStep => {
    const [first] = group;
    return {
      id,
      sweepId: first?.sweepId ?? null,
      value: median(group.map(({ value }) => value)),
      runs: group.length,
    };
  });
  return (unit === 'night' ? withMissingNights(steps) : steps).slice(-last);
}

function idOf(run: TrendRun, unit: Exclude<TrendUnit, 'run'>, starts: SweepStarts): string {
  switch (unit) {
    case 'sweep':
      return run.sweepId;
    case 'night':
      return nightOf(run, starts);
    case 'commit':
      return run.commit === null ? 'no commit' : run.commit + (run.dirty === true ? '+dirty' : '');
  }
}

/** When the first run of each sweep began. */
type SweepStarts = ReadonlyMap<string, string>;

function sweepStarts(runs: readonly TrendRun[]): SweepStarts {
  const starts = new Map<string, string>();
  for (const { sweepId, startedAt } of runs) {
    const known = starts.get(sweepId);
    if (startedAt !== null && (known === undefined || startedAt < known)) {
      starts.set(sweepId, startedAt);
    }
  }
  return starts;
}

/** The date in UTC on which the sweep began: a sweep over midnight is one night. Without any times all share one. */
function nightOf({ sweepId }: TrendRun, starts: SweepStarts): string {
  return starts.get(sweepId)?.slice(0, 10) ?? 'unknown';
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 4000;

/** A night without results is a gap and not a shorter way. */
function withMissingNights(steps: readonly TrendStep[]): TrendStep[] {
  const byNight = new Map(steps.map((step) => [step.id, step]));
  const dated = steps
    .filter(({ id }) => id !== 'unknown')
    .map(({ id }) => id)
    .toSorted();
  const [first] = dated;
  const last = dated.at(-1);
  if (first === undefined || last === undefined) return [...steps];
  const days: TrendStep[] = [];
  const end = Date.parse(last);
  for (let day = Date.parse(first); day <= end && days.length < MAX_DAYS; day += DAY_MS) {
    const id = new Date(day).toISOString().slice(0, 10);
    days.push(byNight.get(id) ?? { id, sweepId: null, value: null, runs: 0 });
  }
  return days;
}
