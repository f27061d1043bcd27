import * as z from 'zod';

import { count, idSchema, type Immutable } from '../records/scalars.ts';
import type { Sweep } from '../records/sweep.ts';
import { median } from '../statistics/median.ts';
import type { Environment } from '../records/environment.ts';
import type { Finding } from '../records/gate-finding.ts';
import { environmentDifferences } from './compare/differences.ts';
import { percentOfLog } from '../statistics/logarithms.ts';
import { directionOf, findChangePoints } from './history/change-points.ts';
import { ALERTING } from './history/settings.ts';
import type { RunId, SweepId } from '../records/scalars.ts';

export const TREND_UNITS = ['run', 'sweep', 'night', 'commit'] as const;

export type TrendUnit = (typeof TREND_UNITS)[number];

/** A sweep that planned the cell, measured or not. */
type TrendSweep = Pick<Sweep, 'sweepId' | 'startedAt' | 'commit' | 'dirty'>;

interface TrendRun extends TrendSweep {
  readonly runId: RunId;
  readonly value: number;
}

export const trendStepSchema = z.strictObject({
  /** Date, commit, sweep or run: source of the label. */
  id: z.string(),
  sweepId: idSchema.nullable(),
  /** Median of the runs of this step. */
  value: z.number().nullable().describe('Null for a night without results'),
  runs: count,
});

export type TrendStep = Immutable<z.infer<typeof trendStepSchema>>;

const ENOUGH_SWEEPS = 8;
const ENOUGH_NIGHTS = 3;

/** Days when there are enough, else sweeps, else runs. */
export function chooseUnit(runs: readonly TrendRun[]): TrendUnit {
  const sweeps = new Set(runs.map(({ sweepId }) => sweepId));
  const starts = sweepStarts(runs);
  const nights = new Set(runs.map((run) => nightOf(run, starts)));
  if (sweeps.size < ENOUGH_SWEEPS) return 'run';
  return nights.size >= ENOUGH_NIGHTS ? 'night' : 'sweep';
}

/**
 * @param runs of one cell, oldest first
 * @param planned sweeps that planned the cell: those without a result are gaps
 */
export function trendSteps(
  runs: readonly TrendRun[],
  planned: readonly TrendSweep[],
  unit: TrendUnit,
  last: number,
): TrendStep[] {
  const entries = withGaps(runs, planned);
  if (unit === 'run') {
    return entries
      .map(({ runId, sweepId, value }) => ({ id: runId ?? sweepId, sweepId, value, runs: value === null ? 0 : 1 }))
      .slice(-last);
  }
  const starts = sweepStarts(entries);
  const groups = Map.groupBy(entries, (entry) => idOf(entry, unit, starts));
  const steps = [...groups].map(([id, group]): TrendStep => {
    const values = group.flatMap(({ value }) => value ?? []);
    return { id, sweepId: group[0]?.sweepId ?? null, value: median(values), runs: values.length };
  });
  return (unit === 'night' ? withMissingNights(steps) : steps).slice(-last);
}

interface TrendEntry extends TrendSweep {
  readonly runId: RunId | null;
  readonly value: number | null;
}

/** Inserts planned sweeps without a run, by time. */
function withGaps(runs: readonly TrendRun[], planned: readonly TrendSweep[]): TrendEntry[] {
  const measured = new Set(runs.map(({ sweepId }) => sweepId));
  const first = runs.find(({ startedAt }) => startedAt !== null)?.startedAt ?? null;
  if (first === null) return [...runs];
  const gaps = planned.filter(
    ({ sweepId, startedAt }) => !measured.has(sweepId) && startedAt !== null && startedAt > first,
  );
  const entries: TrendEntry[] = [...runs];
  for (const gap of gaps.toSorted((a, b) => compareTimes(a.startedAt, b.startedAt))) {
    // Without a time, the store's order is kept.
    const next = entries.findIndex(({ startedAt }) => startedAt !== null && compareTimes(startedAt, gap.startedAt) > 0);
    const place = next === -1 ? entries.length : next;
    entries.splice(place, 0, { ...gap, runId: null, value: null });
  }
  return entries;
}

/** ISO 8601 in UTC sorts as text. */
function compareTimes(a: string | null, b: string | null): number {
  if (a === b) return 0;
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

function idOf(run: TrendSweep, unit: Exclude<TrendUnit, 'run'>, starts: SweepStarts): string {
  switch (unit) {
    case 'sweep':
      return run.sweepId;
    case 'night':
      return nightOf(run, starts);
    case 'commit':
      return run.commit === null ? 'no commit' : run.commit + (run.dirty === true ? '+dirty' : '');
  }
}

/** Start of each sweep's first run. */
type SweepStarts = ReadonlyMap<string, string>;

function sweepStarts(runs: readonly TrendSweep[]): SweepStarts {
  const starts = new Map<string, string>();
  for (const { sweepId, startedAt } of runs) {
    const known = starts.get(sweepId);
    if (startedAt !== null && (known === undefined || startedAt < known)) {
      starts.set(sweepId, startedAt);
    }
  }
  return starts;
}

/** Longest span of a sweep counted as one day: imports may span months. */
const LONGEST_NIGHT_MS = 36 * 3_600_000;

/** UTC date of the sweep's start, so that a sweep over midnight is one step. Without any times all share one. */
function nightOf({ startedAt, sweepId }: TrendSweep, starts: SweepStarts): string {
  const start = starts.get(sweepId);
  if (start === undefined) return 'unknown';
  const isOwnNight = startedAt !== null && Date.parse(startedAt) - Date.parse(start) > LONGEST_NIGHT_MS;
  return (isOwnNight ? startedAt : start).slice(0, 10);
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 4000;

/** A day without results is a gap. */
function withMissingNights(steps: readonly TrendStep[]): TrendStep[] {
  const byNight = new Map(steps.map((step) => [step.id, step]));
  const dated = steps
    .map(({ id }) => id)
    .filter((id) => id !== 'unknown')
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
  return [...steps.filter(({ id }) => id === 'unknown'), ...days];
}

/** What happened to a cell over the steps: changes of its level, of the machine, and baselines. */
export function trendMarks(
  steps: readonly TrendStep[],
  runs: readonly { readonly sweepId: SweepId; readonly environmentId: string }[],
  known: {
    /** Null for steps that are single runs: changes of the level are not looked for. */
    readonly betterIs: 'lower' | 'higher' | null;
    readonly environments: ReadonlyMap<string, Environment>;
    /** Of this cell and metric. */
    readonly findings: readonly Finding[];
    readonly baselines: readonly { readonly name: string; readonly sweepId: SweepId }[];
  },
): TrendMark[] {
  const ofSweep = new Map(
    runs.flatMap(({ sweepId, environmentId }) => {
      const environment = known.environments.get(environmentId);
      return environment === undefined ? [] : [[sweepId, environment] as const];
    }),
  );
  return [
    ...(known.betterIs === null ? [] : changeMarks(steps, known.betterIs, known.findings)),
    ...environmentMarks(steps, ofSweep),
    ...baselineMarks(steps, known.baselines),
  ].toSorted((a, b) => a.step - b.step);
}

/** A mark on the time axis. */
export const trendMarkSchema = z.strictObject({
  step: count.describe('Place among the points, from 0'),
  kind: z.enum(['slower', 'faster', 'environment', 'baseline']),
  /** What changed, or the name of the baseline; the finding that was reported of a change. */
  text: z.string(),
  /** Another GPU model or TensorRT major: the line ends. */
  breaksLine: z.boolean(),
});

export type TrendMark = Immutable<z.infer<typeof trendMarkSchema>>;

/**
 * Permanent changes of level.
 * @param findings of this cell and metric
 */
function changeMarks(
  steps: readonly TrendStep[],
  betterIs: 'lower' | 'higher',
  findings: readonly Finding[],
): TrendMark[] {
  const measured = steps.flatMap(({ value }, step) => (value === null ? [] : [{ step, value }]));
  const changes = findChangePoints({
    nights: measured.map(({ step }) => step),
    values: Float64Array.from(measured, ({ value }) => value),
  });
  return changes.map((change) => {
    const kind = directionOf(change.shift, betterIs);
    const percent = percentOfLog(change.shift);
    const size = `${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`;
    const finding = findings.find(
      ({ direction, firstBadSweepId }) =>
        direction === kind &&
        steps.some(
          ({ sweepId }, step) => sweepId === firstBadSweepId && Math.abs(step - change.night) <= ALERTING.sameNights,
        ),
    );
    const note = finding === undefined ? '' : `, finding ${finding.findingId.slice(0, 8)}: ${finding.state}`;
    return { step: change.night, kind, text: `${size}${note}`, breaksLine: false };
  });
}

/** @param environments by sweep */
function environmentMarks(steps: readonly TrendStep[], environments: ReadonlyMap<string, Environment>): TrendMark[] {
  const marks: TrendMark[] = [];
  let before: Environment | null = null;
  for (const [step, { sweepId }] of steps.entries()) {
    const environment = sweepId === null ? undefined : environments.get(sweepId);
    if (environment === undefined) continue;
    const changes = before === null ? [] : environmentDifferences(before, environment);
    if (changes.length > 0) {
      const breaksLine = before !== null && isOtherMachine(before, environment);
      marks.push({ step, kind: 'environment', text: changes.join('; '), breaksLine });
    }
    before = environment;
  }
  return marks;
}

function majorOf({ tensorrt }: Environment): string | undefined {
  return tensorrt?.split('.')[0];
}

function isOtherMachine(before: Environment, after: Environment): boolean {
  return before.gpuName !== after.gpuName || majorOf(before) !== majorOf(after);
}

function baselineMarks(
  steps: readonly TrendStep[],
  baselines: readonly { readonly name: string; readonly sweepId: SweepId }[],
): TrendMark[] {
  const names = Map.groupBy(baselines, ({ sweepId }) => sweepId);
  const seen = new Set<string>();
  return steps.flatMap(({ sweepId }, step): TrendMark[] => {
    const pinned = sweepId === null || seen.has(sweepId) ? undefined : names.get(sweepId);
    if (sweepId === null || pinned === undefined) return [];
    seen.add(sweepId);
    return [{ step, kind: 'baseline', text: pinned.map(({ name }) => name).join(', '), breaksLine: false }];
  });
}
