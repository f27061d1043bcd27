import * as z from 'zod';

import { BOUND_WORDS, type BoundBy } from '../records/bound.ts';
import type { CellRun } from '../records/run.ts';
import { count, idSchema, type Immutable, type RunId, type SweepId } from '../records/scalars.ts';
import type { Sweep } from '../records/sweep.ts';
import { median } from '../statistics/order-statistics.ts';
import type { Environment } from '../records/environment.ts';
import { type Finding, saidState } from '../records/finding.ts';
import { usualBound } from './bound.ts';
import { environmentDifferences } from './compare/differences.ts';
import { type About, cellIn } from './gate/metric-changes.ts';

export const TREND_UNITS = ['run', 'sweep', 'day', 'commit'] as const;

type TrendUnit = (typeof TREND_UNITS)[number];

type TrendSweep = Pick<Sweep, 'sweepId' | 'startedAt' | 'commit' | 'dirty'>;

/** A run; both null for a sweep without one. */
interface TrendEntry extends TrendSweep {
  readonly runId: RunId | null;
  readonly value: number | null;
}

export const trendStepSchema = z.strictObject({
  id: z.string(),
  sweepId: idSchema.nullable(),
  startedAt: z.string().nullable().describe('Start of the first sweep of this step'),
  value: z.number().nullable().describe('Null without a result'),
  runs: count,
});

export type TrendStep = Immutable<z.infer<typeof trendStepSchema>>;

export function trendSteps(runs: readonly TrendEntry[], planned: readonly TrendSweep[], unit: TrendUnit, last: number) {
  const measured = new Set(runs.map(({ sweepId }) => sweepId));
  const first = runs.find(({ startedAt }) => startedAt !== null)?.startedAt ?? '~';
  const entries = [...runs];
  // Inserts planned sweeps without a run by time (ISO 8601 in UTC sorts as text).
  for (const gap of planned.toSorted((a, b) => ((a.startedAt ?? '') < (b.startedAt ?? '') ? -1 : 1))) {
    const { startedAt } = gap;
    if (measured.has(gap.sweepId) || startedAt === null || startedAt <= first) continue;
    const before = entries.findLastIndex((entry) => entry.startedAt !== null && entry.startedAt <= startedAt);
    entries.splice(before + 1, 0, { ...gap, runId: null, value: null });
  }
  const idOf = (run: TrendEntry): string => {
    if (unit === 'run') return run.runId ?? run.sweepId;
    if (unit === 'sweep') return run.sweepId;
    if (unit === 'day') return run.startedAt?.slice(0, 10) ?? 'unknown';
    return run.commit === null ? 'no commit' : run.commit + (run.dirty === true ? '+dirty' : '');
  };
  return [...Map.groupBy(entries, idOf)].slice(-last).map(([id, group]): TrendStep => {
    const values = group.flatMap(({ value }) => value ?? []);
    const { sweepId = null, startedAt = null } = group[0] ?? {};
    return { id, sweepId, startedAt, value: median(values), runs: values.length };
  });
}

interface Marked {
  readonly steps: readonly Pick<TrendStep, 'sweepId'>[];
  readonly runs: readonly Pick<CellRun, 'boundBy' | 'environmentId' | 'sweepId'>[];
  readonly environments: ReadonlyMap<string, Environment>;
  readonly baselines: readonly { readonly name: string; readonly sweepId: SweepId }[];
  readonly about: About;
  /** Null if no sweep was judged. */
  readonly judged: {
    readonly verdict: { readonly findings: readonly Finding[] };
    readonly acknowledgements: ReadonlyMap<string, unknown>;
    readonly batch: ReadonlySet<string>;
  } | null;
}

export function trendMarks({ about, baselines, environments, judged, runs, steps }: Marked): TrendMark[] {
  const bySweep = Map.groupBy(runs, ({ sweepId }) => sweepId);
  const sweepIds = [...bySweep.keys()];
  const ofSteps = steps.map(({ sweepId }) => bySweep.get(sweepId ?? '') ?? []);
  const breaksLine = false;
  const changeMarks = judged?.verdict.findings.flatMap((finding): TrendMark[] => {
    const { direction, findingId: id, firstBadSweepId, kind } = finding;
    const own = cellIn(finding, about);
    if (own === undefined || kind === 'limit') return [];
    const until = sweepIds.slice(0, sweepIds.indexOf(firstBadSweepId) + 1);
    // A step may hold several sweeps, or one of several runs of a sweep.
    const last = steps.findLast(({ sweepId }) => until.includes(sweepId ?? ''));
    const step = steps.findIndex(({ sweepId }) => sweepId === last?.sweepId);
    if (step === -1) return [];
    const size = `${own.changePercent > 0 ? '+' : ''}${own.changePercent.toFixed(1)} %`;
    const state = saidState(finding, judged.acknowledgements.has(id), judged.batch);
    return [{ step, kind: direction, text: `${size}, finding ${id.slice(0, 8)}: ${state}`, breaksLine }];
  });
  const pinned = [...Map.groupBy(baselines, ({ sweepId }) => sweepId)].flatMap(([sweepId, own]): TrendMark[] => {
    const step = steps.findIndex((one) => one.sweepId === sweepId);
    return step === -1 ? [] : [{ step, kind: 'baseline', text: own.map(({ name }) => name).join(', '), breaksLine }];
  });
  return [
    ...(changeMarks ?? []),
    ...boundMarks(ofSteps.map((own) => usualBound(own.map(({ boundBy }) => boundBy)))),
    ...environmentMarks(ofSteps.map((own) => environments.get(own.at(-1)?.environmentId ?? '') ?? null)),
    ...pinned,
  ].toSorted((a, b) => a.step - b.step);
}

export const trendMarkSchema = z.strictObject({
  step: count.describe('Index of the point, from 0'),
  kind: z.enum(['slower', 'faster', 'bound', 'environment', 'baseline']),
  /** The change with its reported finding, or the name of the baseline. */
  text: z.string(),
  /** True for another GPU model or TensorRT major version, at which the line ends. */
  breaksLine: z.boolean(),
});

export type TrendMark = Immutable<z.infer<typeof trendMarkSchema>>;

/** Steps at which the bottleneck changed and did not change back at the next step. */
function boundMarks(bounds: readonly (BoundBy | null)[]): TrendMark[] {
  const known = bounds.flatMap((by, step) => (by === null ? [] : [{ by, step }]));
  let before = known[0]?.by;
  return known.flatMap(({ by, step }, place): TrendMark[] => {
    const was = before;
    if (was === undefined || by === was || (known[place + 1]?.by ?? by) !== by) return [];
    before = by;
    const text = `bound by ${BOUND_WORDS[by]}, before by ${BOUND_WORDS[was]}`;
    return [{ step, kind: 'bound', text, breaksLine: false }];
  });
}

export function environmentMarks(environments: readonly (Environment | null)[]): TrendMark[] {
  const known = environments.flatMap((environment, step) => (environment === null ? [] : [{ environment, step }]));
  return known.slice(1).flatMap(({ environment: after, step }, place): TrendMark[] => {
    const before = known[place]?.environment ?? after;
    const changes = environmentDifferences(before, after);
    const [was, is] = [before, after].map(({ tensorrt }) => tensorrt?.split('.')[0]);
    const breaksLine = before.gpuName !== after.gpuName || was !== is;
    return changes.length === 0 ? [] : [{ step, kind: 'environment', text: changes.join('; '), breaksLine }];
  });
}
