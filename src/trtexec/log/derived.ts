import { itemsPerS } from '../../records/cell.ts';
import type { Measurement } from '../../records/harness.ts';
import { median } from '../../statistics/order-statistics.ts';
import { type DerivedValues, enqueueClass, type QueryTimes } from '../run-facts.ts';
import { twoLevels } from '../fitness/facts.ts';
import { shapesOf, type TrtexecRun } from './run-builder.ts';

export function derive(run: TrtexecRun, times: QueryTimes | null): DerivedValues {
  const { measurement } = run;
  const enqueue = measurement?.enqueueMs?.median ?? null;
  const compute = measurement?.gpuComputeMs.median ?? null;
  const enqueueRatio = enqueue !== null && compute ? enqueue / compute : null;
  const oneStream = run.options.streams === null || run.options.streams === 1;
  return {
    queries: queryCount(run),
    cvPercent: coefficientOfVariancePercent(times) ?? unstableHint(run),
    enqueueRatio,
    enqueueClass: enqueueRatio === null ? null : enqueueClass(enqueueRatio),
    gpuBusy:
      oneStream && measurement !== null && measurement.gpuTotalS !== null
        ? measurement.gpuTotalS / measurement.hostWalltimeS
        : null,
    idleGapMs: oneStream ? idleGapMs(measurement) : null,
    transferBound: measurement === null ? null : transferBound(measurement),
    itemsPerS: itemsOf(run),
    boundBy: null,
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
  const mean = measurement?.gpuComputeMs.mean ?? null;
  return measurement === null || mean === null || measurement.throughputQps <= 0
    ? null
    : 1000 / measurement.throughputQps - mean;
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

/** From the timing trace; otherwise from throughput and wall time, which agree to a small fraction of a query. */
export function queryCount(run: TrtexecRun): number | null {
  if (run.queries !== null) return run.queries;
  const { measurement } = run;
  if (measurement === null) return null;
  return Math.round(measurement.throughputQps * measurement.hostWalltimeS);
}

function unstableHint(run: TrtexecRun): number | null {
  return run.hints.find(({ id }) => id === 'unstable')?.value ?? null;
}

function coefficientOfVariancePercent(times: QueryTimes | null): number | null {
  const values = times?.columns.computeMs;
  if (values === undefined || values.length === 0) return null;
  let sum = 0;
  for (const value of values) sum += value;
  const mean = sum / values.length;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
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
  let sum = 0;
  for (let i = low; i < high; i += 1) sum += Math.log(sorted[i] ?? Number.NaN);
  return Math.exp(sum / (high - low));
}
