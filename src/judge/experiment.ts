import * as z from 'zod';

import { RUN_MARKS } from '../records/run-flag.ts';
import { count, type Immutable, numberOrNull, textByName, textOrNull, type CellKey } from '../records/scalars.ts';
import type { CellRun } from '../records/run.ts';
import { compareCells, type TwoSides } from './compare/compare-cells.ts';
import { detectableErrors, moreRunsUntil } from './run-noise.ts';
import { type CellRatio, geometricMean, NO_SHARED_NOISE } from './geometric-mean.ts';
import { tQuantile } from '../statistics/special-functions.ts';
import type { KeyedCell } from '../records/cell.ts';
import { gateMetric, type MetricId, metricOf } from '../records/metric.ts';
import { failureSentences } from '../records/outcome.ts';
import { fitSide } from './compare/assemble-sides.ts';
import { singleRunReason } from '../records/verdict.ts';
import { valueRule } from './value-rule.ts';

export const experimentSchema = z.object({
  name: z.string(),
  variables: textByName,
  significantPercent: z.number(),
  metric: textOrNull,
  marks: z.array(z.enum(RUN_MARKS)),
  pairs: z.array(z.object({ a: z.string(), b: z.string() })),
  notes: z.array(z.string()),
});

export type AbExperiment = Immutable<z.infer<typeof experimentSchema>>;

const AB_VERDICTS = ['significant', 'notABottleneck', 'unclear', 'failed'] as const;

export type AbVerdict = (typeof AB_VERDICTS)[number];

export const abJudgementSchema = z.strictObject({
  verdict: z
    .enum(AB_VERDICTS)
    .describe('significant: the whole interval is above the threshold; notABottleneck: the whole interval is below it'),
  gainPercent: numberOrNull.describe('Gain of B over A; positive: B is better. For times, A / B - 1'),
  ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval'),
  moreRepeats: count.nullable().describe('More repeats per side that would settle it; null if none would'),
  reasons: z.array(z.string()),
});

type AbJudgement = Immutable<z.infer<typeof abJudgementSchema>>;

const NEVER = 'more repeats like these do not settle it';

/** Whether B (head) is better than A (base) by more than the threshold, by less, or unclear; overall: in the mean. */
export function judgeExperiment(sides: readonly TwoSides[], significantPercent: number) {
  const { ratios, noises } = compareCells(sides, { sameSweep: true });
  const evidence = sides.map(({ base, betterIs, cellKey, head, systematicError = 0 }) => {
    const [ratio, noise] = [ratios.get(cellKey), noises.get(cellKey)];
    if (ratio === undefined || ratio.logRatio === null || noise === undefined) return null;
    const runs = [base.length, head.length] as const;
    return {
      gain: { ...ratio, logRatio: betterIs === 'higher' ? ratio.logRatio : -ratio.logRatio },
      runs: { ...noise, runs, systematicError, sweepVariance: 0 },
      reasons: [singleRunReason(runs), noise.assumed].filter((reason) => reason !== null),
    };
  });
  const cells = evidence.map((own) => {
    if (own === null) return judge([], [], significantPercent);
    const judgement = judge([own.gain], own.reasons, significantPercent);
    if (judgement.verdict !== 'unclear') return judgement;
    const distance = Math.abs(own.gain.logRatio - Math.log1p(significantPercent / 100));
    const moreRepeats = moreRunsUntil(
      own.runs,
      (error, degrees) => detectableErrors(tQuantile(0.05, degrees), degrees) * error <= distance,
    );
    return { ...judgement, moreRepeats, reasons: [...own.reasons, ...(moreRepeats === null ? [NEVER] : [])] };
  });
  const known = evidence.filter((own) => own !== null);
  const reasons = [...new Set(known.flatMap((own) => own.reasons))];
  const overall = judge(
    known.map(({ gain }) => gain),
    reasons,
    significantPercent,
  );
  if (overall.verdict !== 'unclear') return { cells, overall };
  const most = Math.max(0, ...cells.map(({ moreRepeats }) => moreRepeats ?? 0));
  const more = most > 0 ? { moreRepeats: most } : { reasons: [...reasons, NEVER] };
  return { cells, overall: { ...overall, ...more } };
}

function judge(gains: readonly CellRatio[], reasons: readonly string[], significantPercent: number): AbJudgement {
  const mean = geometricMean(gains, NO_SHARED_NOISE);
  if (mean === null) return { verdict: 'failed', gainPercent: null, ciPercent: null, moreRepeats: null, reasons: [] };
  const { changePercent: gainPercent, ciPercent } = mean;
  const [low, high] = ciPercent ?? [-Infinity, Infinity];
  const isSettled = reasons.length === 0 && (low > significantPercent || high < significantPercent);
  const verdict = !isSettled ? 'unclear' : low > significantPercent ? 'significant' : 'notABottleneck';
  return { verdict, gainPercent, ciPercent, moreRepeats: null, reasons };
}

export function abSides(cell: KeyedCell, bKey: string, requested: MetricId | null, runs: readonly CellRun[]) {
  const metric = gateMetric(requested, cell);
  const [a, b] = [sideOf('A', cell.key, metric, runs), sideOf('B', bKey, metric, runs)];
  const valueOf = valueRule([...a.kept, ...b.kept], metric);
  const sides: TwoSides = {
    cellKey: cell.key,
    base: a.kept.flatMap((run) => valueOf(run) ?? []),
    head: b.kept.flatMap((run) => valueOf(run) ?? []),
    betterIs: metricOf(metric).betterIs,
    systematicError: Math.hypot(a.systematicError, b.systematicError),
  };
  return { metric, sides, reasons: [...a.reasons, ...b.reasons] };
}

function sideOf(name: string, cellKey: CellKey, metric: MetricId, runs: readonly CellRun[]) {
  const timed = runs
    .filter((run) => run.cellKey === cellKey && run.role === 'timed')
    .map((run) => ({ ...run, flags: run.flags.filter(({ effect }) => effect !== 'barred') }));
  const { systematicError, kept, leftOut } = fitSide(timed, metric, null);
  const lost = failureSentences(timed.map(({ outcome }) => outcome).filter(({ kind }) => kind !== 'measured'));
  const problems = [...leftOut, ...(timed.length === 0 ? ['no run'] : lost)];
  return { systematicError, kept, reasons: problems.map((problem) => `${name}: ${problem}`) };
}
