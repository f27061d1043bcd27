import * as z from 'zod';

import { metricSchema } from './metric.ts';
import { type CellKey, count, type Immutable, numberOrNull } from './scalars.ts';

export const VERDICTS = ['slower', 'faster', 'same', 'unclear', 'missing', 'failed', 'incomparable'] as const;

export type Verdict = (typeof VERDICTS)[number];

export const NOISE_SOURCES = ['runs', 'runsAndNights', 'nights', 'otherCells', 'assumed'] as const;

export type NoiseSource = (typeof NOISE_SOURCES)[number];

const cellNoiseSchema = z.strictObject({
  from: z.enum(NOISE_SOURCES),
  runPercent: z.number().describe('Standard deviation of a run'),
  nightPercent: z.number().describe('Sweep-to-sweep noise beyond run noise: standard deviation of a difference'),
  nights: count.describe('Number of earlier sweeps used'),
});

/** Comparison of one cell's runs on two sides. Numbers are null if no run has them. */
export const cellComparisonSchema = z.object({
  verdict: z.enum(VERDICTS),
  /** Centers over the runs of each side, in the unit of the metric. */
  base: numberOrNull,
  head: numberOrNull,
  changePercent: numberOrNull.describe(
    'Raw change of the mean of the runs; +16: 16 % more milliseconds, or queries per second',
  ),
  ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval'),
  /** At a power of 90 %. */
  mdePercent: numberOrNull.describe(
    'The detectable effect: the smallest change that would have been found nine times in ten',
  ),
  runs: z.tuple([count, count]).describe('Runs of base and head; of a reference level, its sweeps'),
  /** Null if nothing is unclear, or if no number of runs would help. */
  moreRunsNeeded: count.nullable().describe('More runs per side that settle an unclear cell four times in five'),
  /** Null if nothing was compared. */
  noise: cellNoiseSchema.nullable().describe('Noise used for the interval'),
  reasons: z.array(z.string()),
});

export type CellComparison = Immutable<z.infer<typeof cellComparisonSchema>> & { readonly cellKey: CellKey };

/** Start of one of the reasons of every unclear cell. */
export const DETECTABLE_FROM = 'detectable from ';

/** Null if both sides have several runs. A single run does not show its noise. */
export function singleRunReason([base, head]: readonly [number, number]): string | null {
  if (Math.min(base, head) > 1) return null;
  return `no verdict: one run ${base === head ? 'per' : 'on one'} side`;
}

export function countsOf(cells: readonly Pick<CellComparison, 'verdict'>[]): Record<Verdict, number> {
  const counts = { slower: 0, faster: 0, same: 0, unclear: 0, missing: 0, failed: 0, incomparable: 0 };
  for (const { verdict } of cells) counts[verdict] += 1;
  return counts;
}

/** Whether a comparison says that the cell changed. */
export function isCalled({ verdict }: Pick<CellComparison, 'verdict'>): boolean {
  return verdict === 'slower' || verdict === 'faster';
}

/**
 * Whether to show a cell by its throughput although it is judged by its GPU time, because the host alone may slow down
 * the throughput. True if the throughput is slower and the GPU time is not, or if only the throughput changed.
 */
export function isShownByThroughput(gpuTime: string, throughput: string): boolean {
  if (throughput === 'slower') return gpuTime !== 'slower';
  if (throughput === 'unclear') return gpuTime === 'same';
  return throughput === 'faster' && (gpuTime === 'same' || gpuTime === 'unclear');
}

/** A change that at least four of five cells share: clocks, driver, or another common cause. */
export const commonShiftSchema = z.strictObject({
  /** If the metrics have both directions, the change of those whose lower values are better. */
  percent: z.number(),
  metric: metricSchema.optional().describe('Metric of the shift, if it is not the metric of the cells'),
  cells: count.describe('Cells that were compared'),
  sharing: count.describe('Number of cells that share the shift'),
  verdict: z
    .enum(['slower', 'faster'])
    .nullable()
    .describe('Null for a shift under 0.5 % or under the minimum change; a slower shift is a regression'),
  recorded: z
    .array(z.string())
    .describe('Recorded differences of clocks, power, heat, driver and machine in the cells that share it'),
});

export type CommonShift = Immutable<z.infer<typeof commonShiftSchema>>;

/** A summary over the cells of one metric, which never leads to a verdict. */
export const geometricMeanSchema = z.strictObject({
  changePercent: z.number().describe('Raw change of the value'),
  ciPercent: z
    .tuple([z.number(), z.number()])
    .nullable()
    .describe('95 % interval for these cells; null if the noise is unknown'),
  cells: count,
  leftOut: count.describe('Cells without a value on both sides, or of another metric'),
});

export type GeometricMean = Immutable<z.infer<typeof geometricMeanSchema>>;
