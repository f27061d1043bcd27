import * as z from 'zod';

import { RUN_MARKS } from '../records/run-flag.ts';
import { count, type Immutable, numberOrNull, textByName, textOrNull, type CellKey } from '../records/scalars.ts';
import { percentOfLog, meanLog } from '../statistics/logarithms.ts';
import { median } from '../statistics/median.ts';
import type { CellRun } from '../records/run.ts';
import { estimateNoise, pooledVariance } from './run-noise.ts';
import { tQuantile } from '../statistics/student-t.ts';
import type { KeyedCell } from '../records/cell.ts';
import { gateMetric, type MetricId, metricOf } from '../records/metric.ts';
import { outcomeReason } from '../records/outcome.ts';
import { fitSide } from './compare/side-flags.ts';
import { singleRunReason } from '../records/verdict.ts';
import { valueRule } from './value-rule.ts';

/** A is the cell as it is, B has environment variables set. */
export const experimentSchema = z.object({
  name: z.string(),
  variables: textByName,
  /** Values in A; null where unset. */
  before: z.record(z.string(), z.array(textOrNull)),
  /** Percent by which B must be better to indicate a bottleneck. */
  significantPercent: z.number(),
  /** As requested; null: each cell's own metric. */
  metric: textOrNull,
  /** Of the runs of B. */
  marks: z.array(z.enum(RUN_MARKS)),
  pairs: z.array(z.object({ a: z.string(), b: z.string() })),
  notes: z.array(z.string()),
});

export type AbExperiment = Immutable<z.infer<typeof experimentSchema>>;

/** Runs of one cell as it is (A) and with the change (B): one positive value each. */
export interface AbSides {
  readonly cellKey: CellKey;
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly betterIs: 'lower' | 'higher';
  /** Error of the difference that more runs do not reduce: standard deviation, log scale. */
  readonly systematicError: number;
}

const AB_VERDICTS = ['significant', 'notABottleneck', 'unclear', 'failed'] as const;

export type AbVerdict = (typeof AB_VERDICTS)[number];

/** How much better B is than A, judged against the threshold. */
export const abJudgementSchema = z.strictObject({
  verdict: z
    .enum(AB_VERDICTS)
    .describe('significant: the whole interval is above the threshold; notABottleneck: below it'),
  gainPercent: numberOrNull.describe("B's speed over A's, less one: of times it is A over B, so that more is better"),
  ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval'),
  moreRepeats: count
    .nullable()
    .describe('More repeats of each side that would settle what is unclear; null: none would'),
  reasons: z.array(z.string()),
});

type AbJudgement = Immutable<z.infer<typeof abJudgementSchema>>;

const CONFIDENCE = 0.95;
/** From this many cells on the noise of each is steadied by that of all. */
const CELLS_FOR_NOISE = 5;
const MOST_REPEATS = 10_000;

interface Evidence {
  /** Log scale, positive where B is better. */
  readonly gain: number;
  readonly variance: number;
  readonly degrees: number;
  readonly runs: readonly [number, number];
  readonly systematicError: number;
  readonly reasons: readonly string[];
}

/**
 * Whether B is better by more than the threshold, by less, or open. The interval is Student's t on logs of runs, with
 * noise moderated over many cells as in `compareCells`. Means of several cells are combined by Welch and Satterthwaite.
 */
export function judgeExperiment(cells: readonly AbSides[], significantPercent: number) {
  const threshold = Math.log1p(significantPercent / 100);
  const measured = cells.filter(({ a, b }) => a.length > 0 && b.length > 0);
  const evidence = new Map(evidenceOf(measured).map((entry, at) => [measured[at], entry]));
  return {
    cells: cells.map((cell) => {
      const entry = evidence.get(cell);
      return {
        cellKey: cell.cellKey,
        /** Centers over runs, in the unit of the metric. */
        a: median(cell.a),
        b: median(cell.b),
        runs: [cell.a.length, cell.b.length] as const,
        ...(entry === undefined ? NOTHING : judge([entry], threshold)),
      };
    }),
    /** Mean over measured cells. */
    overall: evidence.size === 0 ? NOTHING : judge([...evidence.values()], threshold),
  };
}

const NOTHING: AbJudgement = { verdict: 'failed', gainPercent: null, ciPercent: null, moreRepeats: null, reasons: [] };

function evidenceOf(cells: readonly AbSides[]): Evidence[] {
  const sides = cells.map(({ a, b }) => ({ base: a, head: b }));
  const estimates = estimateNoise(sides);
  return cells.map(({ a, b, betterIs, systematicError }, at) => {
    const own = pooledVariance({ base: a, head: b });
    const estimate = estimates[at] ?? { ...own, assumed: null };
    const isModerated = cells.length >= CELLS_FOR_NOISE || own.degrees === 0;
    const { variance, degrees } = isModerated ? estimate : own;
    const difference = meanLog(b) - meanLog(a);
    return {
      gain: betterIs === 'higher' ? difference : -difference,
      variance,
      degrees,
      runs: [a.length, b.length],
      systematicError,
      reasons: [singleRunReason([a.length, b.length]), estimate.assumed].filter((reason) => reason !== null),
    };
  });
}

function judge(entries: readonly Evidence[], threshold: number): AbJudgement {
  const gain = entries.reduce((sum, entry) => sum + entry.gain, 0) / entries.length;
  const half = halfWidth(entries, 0);
  const reasons = [...new Set(entries.flatMap((entry) => entry.reasons))];
  const verdict =
    reasons.length > 0
      ? 'unclear'
      : gain - half > threshold
        ? 'significant'
        : gain + half < threshold
          ? 'notABottleneck'
          : 'unclear';
  const moreRepeats = verdict === 'unclear' ? moreFor(entries, Math.abs(gain - threshold)) : null;
  return {
    verdict,
    gainPercent: percentOfLog(gain),
    ciPercent: [percentOfLog(gain - half), percentOfLog(gain + half)],
    moreRepeats,
    reasons:
      verdict === 'unclear' && moreRepeats === null
        ? [...reasons, 'more repeats like these do not settle it']
        : reasons,
  };
}

/** Half of the interval, were there this many more repeats of each side. */
function halfWidth(entries: readonly Evidence[], more: number): number {
  const parts = entries.map(({ variance, degrees, runs: [a, b] }) => ({
    square: variance * (1 / (a + more) + 1 / (b + more)),
    degrees: degrees + 2 * more,
  }));
  const square = parts.reduce((sum, part) => sum + part.square, 0);
  const weights = parts.reduce((sum, part) => sum + part.square ** 2 / part.degrees, 0);
  const degrees = weights > 0 ? square ** 2 / weights : Number.MAX_SAFE_INTEGER;
  const systematicError = Math.hypot(...entries.map((entry) => entry.systematicError));
  const error = Math.max(Math.sqrt(square), systematicError) / entries.length;
  return tQuantile(1 - CONFIDENCE, degrees) * error;
}

/** Least number of repeats that excludes the threshold at the present effect. */
function moreFor(entries: readonly Evidence[], distance: number): number | null {
  const least = Math.max(0, 2 - Math.min(...entries.flatMap(({ runs }) => runs)));
  if (halfWidth(entries, MOST_REPEATS) >= distance) return null;
  let low = Math.max(1, least) - 1;
  let high = MOST_REPEATS;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (halfWidth(entries, middle) < distance) high = middle;
    else low = middle;
  }
  return high;
}

type AbRun = Pick<CellRun, 'cellKey' | 'centres' | 'flags' | 'outcome' | 'role' | 'smClockMhz' | 'values'>;

/**
 * The runs of A and B of one cell, and which do not count. What bars B from baselines is what the experiment is about.
 */
export function abSides(cell: KeyedCell, bKey: string, requested: MetricId | null, runs: readonly AbRun[]) {
  const metric = gateMetric(requested, cell);
  const [a, b] = [sideOf(cell.key, metric, runs), sideOf(bKey, metric, runs)];
  const valueOf = valueRule([...a.kept, ...b.kept], metric);
  const valuesOf = (kept: readonly AbRun[]): number[] => kept.flatMap((run) => valueOf(run) ?? []);
  return {
    sides: {
      cellKey: cell.key,
      a: valuesOf(a.kept),
      b: valuesOf(b.kept),
      betterIs: metricOf(metric).betterIs,
      systematicError: Math.hypot(a.systematicError, b.systematicError),
    },
    metric,
    reasons: [...a.problems.map((problem) => `A: ${problem}`), ...b.problems.map((problem) => `B: ${problem}`)],
  };
}

function sideOf(cellKey: CellKey, metric: MetricId, runs: readonly AbRun[]) {
  const timed = runs
    .filter((run) => run.cellKey === cellKey && run.role === 'timed')
    .map((run) => ({ ...run, flags: run.flags.filter(({ effect }) => effect !== 'barred') }));
  const { systematicError, kept, leftOut } = fitSide(timed, metric, null);
  const others = timed.filter(({ outcome }) => outcome.kind !== 'measured');
  const why = new Set(others.map(({ outcome }) => outcomeReason(outcome) ?? outcome.kind));
  const lost = others.length === 0 ? [] : [`${others.length} of ${timed.length} runs: ${[...why].join(', ')}`];
  return { systematicError, kept, problems: [...leftOut, ...(timed.length === 0 ? ['no run'] : lost)] };
}
