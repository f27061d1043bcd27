import * as z from 'zod';

import { RUN_MARKS } from '../records/outcome.ts';
import { count, type Immutable, numberOrNull, textByName, textOrNull, type CellKey } from '../records/scalars.ts';
import type { CellRun } from '../records/run.ts';
import { compareCells, type TwoSides } from './compare/compare-cells.ts';
import { geometricMean, NO_SHARED_NOISE } from './geometric-mean.ts';
import type { KeyedCell } from '../records/cell.ts';
import { gateMetric, type MetricId, metricOf } from '../records/metric.ts';
import { sideOf } from './compare/assemble-sides.ts';
import { cellComparisonSchema, singleRunReason } from '../records/verdict.ts';
import { detectableErrors, moreRunsUntil } from './run-noise.ts';
import { valueRule } from './value-rule.ts';

/** A is the unchanged cell, and B has environment variables set. */
export const experimentSchema = z.object({
  name: z.string(),
  variables: textByName.describe('Variables of side B'),
  /** Percent by which B must be better to indicate a bottleneck. */
  significantPercent: z.number(),
  /** The requested metric; null for each cell's own metric. */
  metric: textOrNull,
  marks: z.array(z.enum(RUN_MARKS)).describe('Marks that make the runs of B ineligible as a baseline'),
  pairs: z.array(z.object({ a: z.string(), b: z.string() })),
  notes: z.array(z.string()),
});

export type AbExperiment = Immutable<z.infer<typeof experimentSchema>>;

/** The improvement of B over A, judged against the threshold. */
export const abJudgementSchema = z.strictObject({
  verdict: z
    .enum(['significant', 'notABottleneck', 'unclear', 'failed'])
    .describe('significant: the whole interval is above the threshold; notABottleneck: the whole interval is below it'),
  gainPercent: numberOrNull.describe('Gain of B over A; positive: B is better. For times, A / B - 1'),
  ciPercent: cellComparisonSchema.shape.ciPercent,
  moreRepeats: count.nullable().describe('More repeats per side that would settle it; null if none would'),
  reasons: z.array(z.string()),
});

/** Distance that runs show nine times in ten, in standard errors. */
const SHOWN_ERRORS = detectableErrors(1.96, Infinity);

/** Whether B (head) is better than A (base) by more than the threshold, in one cell or in the mean of several. */
export function judgeExperiment(all: readonly TwoSides[], significantPercent: number) {
  // For times, the gain of B is A / B.
  const sides = all.map((side): TwoSides => {
    return side.betterIs === 'higher' ? side : { ...side, betterIs: 'higher', base: side.head, head: side.base };
  });
  const { ratios } = compareCells(sides, { sameSweep: true });
  return (keys: readonly CellKey[]): Immutable<z.infer<typeof abJudgementSchema>> => {
    const own = sides.filter(({ cellKey }) => keys.includes(cellKey) && ratios.has(cellKey));
    const ownRatios = own.flatMap(({ cellKey }) => ratios.get(cellKey) ?? []);
    const mean = geometricMean(ownRatios, NO_SHARED_NOISE);
    if (mean === null) return { verdict: 'failed', gainPercent: null, ciPercent: null, moreRepeats: null, reasons: [] };
    const { changePercent: gainPercent, ciPercent } = mean;
    const [low, high] = ciPercent ?? [-Infinity, Infinity];
    const noise = ownRatios.map(({ ofRuns }) => ofRuns);
    const runs = own.map(({ base, head }) => [base.length, head.length] as const);
    const unknown = [...runs.map(singleRunReason), ...noise.map(({ assumed }) => assumed)];
    const reasons = [...new Set(unknown.filter((reason) => reason !== null))];
    if (reasons.length === 0 && (low > significantPercent || high < significantPercent)) {
      const verdict = low > significantPercent ? 'significant' : 'notABottleneck';
      return { verdict, gainPercent, ciPercent, moreRepeats: null, reasons };
    }
    const distance = Math.abs(Math.log1p(gainPercent / 100) - Math.log1p(significantPercent / 100));
    const variance = noise.reduce((sum, ofCell) => sum + ofCell.variance, 0) / own.length ** 2;
    const fixedError = Math.hypot(...own.map(({ systematicError = 0 }) => systematicError)) / own.length;
    const there = Math.min(...runs.flat());
    const isEnough = (error: number): boolean => SHOWN_ERRORS * error <= distance;
    const moreRepeats = moreRunsUntil({ variance, degrees: Infinity }, [there, there], fixedError, 0, isEnough);
    if (moreRepeats === null) reasons.push('more repeats like these do not settle it');
    return { verdict: 'unclear', gainPercent, ciPercent, moreRepeats, reasons };
  };
}

/** The runs of A and B of one cell, and those that do not count. Both sides are of one sweep and machine. */
export function abSides(cell: KeyedCell, bKey: string, requested: MetricId | null, runs: readonly CellRun[]) {
  const metric = gateMetric(requested, cell);
  const timed = runs.filter(({ role }) => role === 'timed');
  // The marks of B exclude it elsewhere.
  const unmarked = timed.map((run) => ({ ...run, flags: run.flags.filter(({ effect }) => effect !== 'barred') }));
  const [ofA, ofB] = [cell.key, bKey].map((key) => unmarked.filter((run) => run.cellKey === key));
  const valueOf = valueRule([...(ofA ?? []), ...(ofB ?? [])], metric);
  const [a, b] = [sideOf('A', ofA ?? [], metric, valueOf), sideOf('B', ofB ?? [], metric, valueOf)];
  const systematicError = Math.hypot(a.systematicError, b.systematicError);
  const { betterIs } = metricOf(metric);
  const sides: TwoSides = { cellKey: cell.key, base: a.values, head: b.values, betterIs, systematicError };
  return { metric, sides, reasons: [a, b].flatMap(({ failures, notes }) => [...notes, ...failures]) };
}
