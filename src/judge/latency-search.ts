import * as z from 'zod';

import { type Immutable, numberOrNull, type CellKey } from '../records/scalars.ts';
import { median } from '../statistics/order-statistics.ts';
import { alphaSpent } from '../statistics/p-values.ts';
import { meanLog, tQuantile } from '../statistics/special-functions.ts';
import { batchOf, type KeyedCell } from '../records/cell.ts';
import { canonicalJson } from '../text/canonical-json.ts';
import { ASSUMED_DEGREES, ASSUMED_SIGMA, estimateNoise, type NoisySides } from './run-noise.ts';

export const SEARCH_AXES = ['batch', 'streams'] as const;

/** Its runs are those of the head; there is no base. */
export interface SearchPoint extends NoisySides {
  readonly cellKey: CellKey;
  readonly at: number;
  /** True if the cell gets no more runs, because it had all of them or failed. */
  readonly isSpent: boolean;
}

export const latencySearchSchema = z.object({
  axis: z.enum(SEARCH_AXES),
  maxLatencyMs: z.number(),
  metric: z.enum(['p99Ms', 'latencyMs']),
  /** Required certainty, in percent, that a point is on its side of the limit, over all looks at it. */
  surePercent: z.number(),
  /** Largest number of runs of the search; null for no limit. */
  maxRuns: numberOrNull,
  maxRepeats: z.number(),
  /** Sweeps of the same commit and machine, oldest first, whose runs are not repeated. */
  knownSweepIds: z.array(z.string()),
});

export type LatencySearch = Immutable<z.infer<typeof latencySearchSchema>>;

export interface JudgedPoint extends SearchPoint {
  /** `open`: more runs are needed; `lost`: no run counts, and there will be no more. */
  readonly state: 'holds' | 'misses' | 'open' | 'lost' | 'notMeasured';
  /** The interval of its runs includes the limit, so that the median decided. */
  readonly isClose: boolean;
  /** Standard error of the mean, log scale. */
  readonly error: number;
}

const EDGE_RUNS = 2;
/** Least decrease of a latency from one point to the next larger one, in standard errors, that counts as falling. */
const FALLING_ERRORS = 4;

/**
 * Decides whether a point is within the limit: an interval of its mean, from the run noise, must be on one side.
 * Each look spends a part of the error probability (Lan and DeMets 1983).
 */
export function pointJudge(
  points: readonly SearchPoint[],
  { maxLatencyMs, surePercent }: Pick<LatencySearch, 'maxLatencyMs' | 'surePercent'>,
): (point: SearchPoint) => JudgedPoint {
  const noiseOf = estimateNoise(points);
  return (point) => {
    const { isSpent, head: values } = point;
    const runs = values.length;
    if (runs === 0) return { ...point, state: isSpent ? 'lost' : 'notMeasured', isClose: false, error: 0 };
    const { variance, degrees, sweeps } = noiseOf(point);
    // The assumed noise counts while the cell has no history.
    const assumed = sweeps > 0 ? 0 : ASSUMED_DEGREES;
    const known = degrees + assumed;
    const error = Math.sqrt((degrees * variance + assumed * ASSUMED_SIGMA ** 2) / known / runs);
    const above = meanLog(values) - Math.log(maxLatencyMs);
    const reach = error * tQuantile(2 * alphaSpent(runs, 1 - surePercent / 100), known);
    if (Math.abs(above) > reach) return { ...point, state: above < 0 ? 'holds' : 'misses', isClose: false, error };
    const holds = (median(values) ?? Infinity) <= maxLatencyMs;
    const state = !isSpent ? 'open' : holds ? 'holds' : 'misses';
    return { ...point, state, isClose: state !== 'open', error };
  };
}

/** Bisects for the largest point that holds the limit, and also measures the point above the first miss. */
export function searchStep(points: readonly JudgedPoint[]) {
  const isMonotone = growsAlong(points);
  const low = points.findLastIndex(({ state }) => state === 'holds');
  const best = points[low] ?? null;
  const above = points.slice(low + 1);
  const end = isMonotone ? above.findIndex(({ state }) => state === 'misses' || state === 'lost') : -1;
  const between = end === -1 ? above : above.slice(0, end);
  const unmeasured = between.filter(({ state }) => state === 'notMeasured');
  const miss = above.find(({ state }) => state === 'misses');
  const beyond = miss && above.slice(above.indexOf(miss) + 1).find(({ state }) => state !== 'lost');
  const next =
    between.findLast(({ state }) => state === 'open') ??
    (isMonotone ? unmeasured[Math.floor(unmeasured.length / 2)] : unmeasured.at(-1)) ??
    [best, miss].find((edge) => edge && !edge.isSpent && edge.head.length < EDGE_RUNS) ??
    (beyond?.state === 'notMeasured' ? beyond : null);
  return { next, best, isMonotone };
}

/** False if a larger point is faster than a smaller one, or holds the limit while the smaller one does not. */
function growsAlong(points: readonly JudgedPoint[]): boolean {
  const measured = points.filter(({ state }) => state !== 'notMeasured');
  return measured.slice(1).every((point, place) => {
    const below = measured[place] ?? point;
    if (point.state === 'holds' && below.state !== 'holds' && below.state !== 'open') return false;
    if (point.head.length === 0 || below.head.length === 0) return true;
    const grown = meanLog(point.head) - meanLog(below.head);
    return grown >= -FALLING_ERRORS * Math.hypot(point.error, below.error);
  });
}

export function placeOn(axis: LatencySearch['axis'], { shapes, streams }: KeyedCell): number | null {
  return axis === 'streams' ? streams : batchOf(shapes);
}

export function axisTwinKey(axis: LatencySearch['axis'], { key: _key, ...cell }: KeyedCell): string {
  if (axis === 'streams') return canonicalJson({ ...cell, streams: 1 });
  const { shapes, axisFlags, ...rest } = cell;
  const samples = Object.entries(shapes).map(([input, dims]) => [input, dims.slice(1)]);
  const batch = String(batchOf(shapes));
  // A harness may receive the batch as a parameter of its own.
  const flags = Object.entries(axisFlags).filter(([name, value]) => name !== 'batch' || value !== batch);
  return canonicalJson({ ...rest, samples, flags });
}
