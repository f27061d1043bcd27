import * as z from 'zod';

import { RUN_MARKS } from '../records/run-flag.ts';
import { count, type Immutable, numberOrNull, textByName, textOrNull, type CellKey } from '../records/scalars.ts';
import type { CellRun } from '../records/run.ts';
import { compareCells, type TwoSides } from './compare/compare-cells.ts';
import { type ComparedRuns, detectableErrors, moreRunsUntil } from './run-noise.ts';
import { type CellRatio, geometricMean, NO_SHARED_NOISE, summed } from './geometric-mean.ts';
import { tQuantile } from '../statistics/special-functions.ts';
import type { KeyedCell } from '../records/cell.ts';
import { gateMetric, type MetricId, metricOf } from '../records/metric.ts';
import { failureSentences } from '../records/outcome.ts';
import { fitSide } from './compare/assemble-sides.ts';
import { singleRunReason } from '../records/verdict.ts';
import { valueRule } from './value-rule.ts';

/** A is the unchanged cell, and B has environment variables set. */
export const experimentSchema = z.object({
  name: z.string(),
  variables: textByName,
  /** Percent by which B must be better to indicate a bottleneck. */
  significantPercent: z.number(),
  /** The requested metric; null for each cell's own metric. */
  metric: textOrNull,
  marks: z.array(z.enum(RUN_MARKS)),
  pairs: z.array(z.object({ a: z.string(), b: z.string() })),
  notes: z.array(z.string()),
});

export type AbExperiment = Immutable<z.infer<typeof experimentSchema>>;

const AB_VERDICTS = ['significant', 'notABottleneck', 'unclear', 'failed'] as const;

/** The improvement of B over A, judged against the threshold. */
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

/** Whether B (head) is better than A (base) by more than the threshold, by less, or unclear. */
export function judgeExperiment(sides: readonly TwoSides[], significantPercent: number) {
  const { ratios, noises } = compareCells(sides, { sameSweep: true });
  const evidence = sides.map(({ base, betterIs, cellKey, head, systematicError = 0 }) => {
    const [ratio, noise] = [ratios.get(cellKey), noises.get(cellKey)];
    if (ratio === undefined || ratio.logRatio === null || noise === undefined) return [];
    const counts = [base.length, head.length] as const;
    return [
      {
        /** Log scale; positive when B is better. */
        ratio: { ...ratio, logRatio: betterIs === 'higher' ? ratio.logRatio : -ratio.logRatio },
        runs: { ...noise, runs: counts, systematicError, sweepVariance: 0 },
        reasons: [singleRunReason(counts), noise.assumed].filter((reason) => reason !== null),
      },
    ];
  });
  return {
    cells: evidence.map((own) => judge(own, significantPercent)),
    overall: judge(evidence.flat(), significantPercent),
  };
}

type Evidence = { readonly ratio: CellRatio; readonly runs: ComparedRuns; readonly reasons: readonly string[] };

function judge(evidence: readonly Evidence[], significantPercent: number): AbJudgement {
  const ratios = evidence.map(({ ratio }) => ratio);
  const mean = geometricMean(ratios, NO_SHARED_NOISE);
  if (mean === null) {
    return { verdict: 'failed', gainPercent: null, ciPercent: null, moreRepeats: null, reasons: [] };
  }
  const { changePercent: gainPercent, ciPercent } = mean;
  const [low, high] = ciPercent ?? [-Infinity, Infinity];
  const reasons = [...new Set(evidence.flatMap((entry) => entry.reasons))];
  if (reasons.length === 0 && (low > significantPercent || high < significantPercent)) {
    const verdict = low > significantPercent ? 'significant' : 'notABottleneck';
    return { verdict, gainPercent, ciPercent, moreRepeats: null, reasons };
  }
  const distance = Math.abs(Math.log1p(gainPercent / 100) - Math.log1p(significantPercent / 100));
  const moreRepeats = moreRunsUntil(
    meanRuns(evidence),
    (error, degrees) => detectableErrors(tQuantile(0.05, degrees), degrees) * error <= distance,
  );
  const never = moreRepeats === null ? ['more repeats like these do not settle it'] : [];
  return { verdict: 'unclear', gainPercent, ciPercent, moreRepeats, reasons: [...reasons, ...never] };
}

/** The mean of cells as one cell. */
function meanRuns(evidence: readonly Evidence[]): ComparedRuns {
  const all = evidence.map(({ runs }) => runs);
  const { variance, degrees } = summed(all);
  const least = Math.min(...all.flatMap(({ runs }) => runs));
  return {
    variance: variance / all.length ** 2,
    degrees,
    runs: [least, least],
    systematicError: Math.hypot(...all.map(({ systematicError }) => systematicError)) / all.length,
    sweepVariance: 0,
  };
}

/** The runs of A and B of one cell, and those that do not count. */
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
