import { itemsPerS } from '../../records/cell.ts';
import type { BoundBy } from '../../records/bound.ts';
import type { HarnessReading, Measurement } from '../../records/harness.ts';
import type { Outcome, RunFlag } from '../../records/outcome.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import { median } from '../../statistics/order-statistics.ts';
import type { QueryTimes, RunExports } from '../run-facts.ts';
import { shapesOf, type TrtexecRun } from './run-builder.ts';

export interface ParsedRun {
  readonly path: string;
  readonly log: TrtexecRun;
  /** Null for trtexec. */
  readonly harness: HarnessReading | null;
  readonly exports: RunExports;
  readonly derived: DerivedValues;
  readonly flags: readonly RunFlag[];
  /** Null if nobody watched the machine during the run. */
  readonly telemetry: RunTelemetry | null;
  readonly outcome: Outcome;
  readonly notes: readonly string[];
}

/** trtexec gives its own hint from a ratio of 0.8 on. */
export function enqueueClass(ratio: number): 'free' | 'near' | 'bound' {
  if (ratio > 0.8) return 'bound';
  return ratio >= 0.5 ? 'near' : 'free';
}

export type DerivedValues = ReturnType<typeof derive>;

/**
 * Values derived from the output; null if the numbers they need were not printed.
 * @param boundBy what limits the throughput; null until its flags are known
 */
export function derive(run: TrtexecRun, times: QueryTimes | null, boundBy: BoundBy | null = null) {
  const { measurement, options } = run;
  const { enqueueMs = null, gpuComputeMs = null, gpuTotalS = null, hostWalltimeS = 0 } = measurement ?? {};
  const enqueueRatio = enqueueMs !== null && gpuComputeMs?.median ? enqueueMs.median / gpuComputeMs.median : null;
  // Streams overlap.
  const isOneStream = options.streams === null || options.streams === 1;
  return {
    queries: queryCount(run),
    /** Standard deviation (population) over mean of the GPU compute times, in percent. */
    cvPercent: coefficientOfVariancePercent(times) ?? run.hints.find(({ id }) => id === 'unstable')?.value ?? null,
    /** Median enqueue time over median GPU compute time. */
    enqueueRatio,
    enqueueClass: enqueueRatio === null ? null : enqueueClass(enqueueRatio),
    /** Share of the wall time in which the GPU computes. Only for one stream. */
    gpuBusy: isOneStream && gpuTotalS !== null ? gpuTotalS / hostWalltimeS : null,
    /** Time between the ends of two queries minus the mean GPU compute time. Only for one stream. */
    idleGapMs: isOneStream ? idleGapMs(measurement) : null,
    /** The direction whose copies take longer than the GPU computes, by the medians: the bus is the bottleneck. */
    transferBound: measurement === null ? null : transferBound(measurement),
    /** Throughput times the batch; null if the inputs share no leading dimension. */
    itemsPerS: itemsOf(run),
    boundBy,
    /** Robust centers of the run's own samples, for comparisons. */
    gpuComputeCentreMs: centreOf(times?.columns.computeMs),
    latencyCentreMs: centreOf(times?.columns.latencyMs),
  };
}

function itemsOf(run: TrtexecRun): number | null {
  const throughputQps = run.measurement?.throughputQps ?? null;
  if (run.imagesPerQuery === null || throughputQps === null) return itemsPerS(shapesOf(run), throughputQps);
  return throughputQps * run.imagesPerQuery;
}

function idleGapMs(measurement: Measurement | null): number | null {
  const { gpuComputeMs, throughputQps = 0 } = measurement ?? {};
  const mean = gpuComputeMs?.mean ?? null;
  return mean === null || throughputQps <= 0 ? null : 1000 / throughputQps - mean;
}

function transferBound({ h2dMs, d2hMs, gpuComputeMs }: Measurement): 'h2d' | 'd2h' | null {
  const [h2d, d2h] = [h2dMs?.median ?? 0, d2hMs?.median ?? 0];
  if (Math.max(h2d, d2h) <= gpuComputeMs.median) return null;
  return h2d >= d2h ? 'h2d' : 'd2h';
}

/** Null if the samples have two levels: a mean lies between them, and a median lies in one of them. */
function centreOf(values: Float64Array | undefined): number | null {
  if (values === undefined || values.length === 0 || values.some((value) => !(value > 0))) return null;
  const sorted = values.toSorted();
  return twoLevels(sorted) === null ? sortedCentre(sorted) : null;
}

const LEVELS = {
  leastQueries: 100,
  /** This share of the queries at either end counts as outliers. */
  trimmed: 0.01,
  /** Each level has at least this share of the other queries. */
  leastShare: 0.1,
  /** Least distance of the levels relative to the lower one: power-limited cells vary by 4 %. */
  leastApart: 0.08,
  /**
   * The same distance in standard deviations within the levels: 2.6 for a normal distribution, 3.5 for a uniform one.
   */
  deviations: 6,
} as const;

/**
 * The lower level's share of the queries, and both levels; null if there is only one. The split is by least squares
 * (Otsu 1979).
 */
export function twoLevels(sorted: Float64Array) {
  if (sorted.length < LEVELS.leastQueries) return null;
  const trimmed = Math.ceil(LEVELS.trimmed * sorted.length);
  const values = sorted.subarray(trimmed, sorted.length - trimmed);
  // Nearly all runs end here: the spread of their queries is less than the distance of two levels.
  const [least = 0] = values;
  if ((values.at(-1) ?? 0) < (1 + LEVELS.leastApart) * least) return null;
  const { low, lower, upper, deviation } = cut(values);
  const isClear =
    Math.min(low, values.length - low) >= LEVELS.leastShare * values.length &&
    upper / lower - 1 >= LEVELS.leastApart &&
    upper - lower >= LEVELS.deviations * deviation;
  return isClear ? { share: (trimmed + low) / sorted.length, lower, upper } : null;
}

/** How many values are on the lower side, the means of both sides, and the deviation within the sides. */
function cut(values: Float64Array) {
  const [origin = 0] = values;
  const sum = values.reduce((total, value) => total + (value - origin), 0);
  const squares = values.reduce((total, value) => total + (value - origin) ** 2, 0);
  const n = values.length;
  let below = 0;
  let best = { low: 1, between: -1, lower: 0, upper: 0 };
  for (let low = 1; low < n; low += 1) {
    below += (values[low - 1] ?? 0) - origin;
    const lower = below / low;
    const upper = (sum - below) / (n - low);
    const between = low * (n - low) * (upper - lower) ** 2;
    if (between > best.between) best = { low, between, lower, upper };
  }
  const { low, lower, upper } = best;
  const within = squares - low * lower ** 2 - (n - low) * upper ** 2;
  return { low, lower: lower + origin, upper: upper + origin, deviation: Math.sqrt(Math.max(0, within) / n) };
}

/** From the timing trace; otherwise from throughput and wall time, which agree to a small fraction of a query. */
export function queryCount({ measurement, queries }: TrtexecRun): number | null {
  return queries ?? (measurement && Math.round(measurement.throughputQps * measurement.hostWalltimeS));
}

function coefficientOfVariancePercent(times: QueryTimes | null): number | null {
  const values = times?.columns.computeMs ?? new Float64Array();
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return mean > 0 ? (Math.sqrt(squares / values.length) / mean) * 100 : null;
}

const HEAD_QUERIES = 10;
const VISIBLY = 1.05;

/** Whether the first timed queries are visibly slower than later ones, so that the warm-up was too short. */
export function startsSlower(times: QueryTimes): boolean {
  const values = times.columns.computeMs;
  if (values === undefined || values.length < 2 * HEAD_QUERIES) return true;
  const head = median(values.subarray(0, HEAD_QUERIES)) ?? Number.NaN;
  const later = median(values.subarray(Math.floor(values.length / 2))) ?? Number.NaN;
  return head > VISIBLY * later;
}

/**
 * The center of one run's samples: the mean of the logarithms between the 10 % and 60 % quantiles, as a time. Steadier
 * than the median when iterations have two states close together, and insensitive to the slow tail.
 * @param times not empty, all positive, in any unit
 */
export function runCentre(times: readonly number[]): number {
  return sortedCentre(Float64Array.from(times).toSorted());
}

function sortedCentre(sorted: Float64Array): number {
  const low = Math.floor(sorted.length / 10);
  const high = Math.max(low + 1, Math.floor((sorted.length * 6) / 10));
  return Math.exp(sorted.subarray(low, high).reduce((sum, time) => sum + Math.log(time), 0) / (high - low));
}
