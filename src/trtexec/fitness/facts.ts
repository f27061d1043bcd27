import type { Environment } from '../../records/environment.ts';
import type { RunFlag } from '../../records/outcome.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import type { TrtexecRun } from '../log/run-builder.ts';
import { type DerivedValues, twoLevels } from '../log/derived.ts';
import type { QueryTimes } from '../run-facts.ts';

export interface FitnessFacts {
  readonly log: TrtexecRun;
  readonly derived: DerivedValues;
  readonly times: QueryTimes | null;
  readonly telemetry: RunTelemetry | null;
  /** Facts about the machine from outside the log; empty if nobody looked. */
  readonly machine: Partial<Environment>;
  /** True if another process ran on the GPU on purpose. */
  readonly hasNeighbor?: boolean;
}

/** The GPU compute times of a run's queries, in milliseconds. */
export type ComputeTimes = NonNullable<ReturnType<typeof computeTimesOf>>;

/** The distribution of fewer queries means nothing. */
const LEAST_QUERIES = 30;

/** Null if there are no exported times, or too few. */
export function computeTimesOf(times: QueryTimes | null) {
  const inOrder = times?.columns.computeMs;
  if (inOrder === undefined || inOrder.length < LEAST_QUERIES) return null;
  const sorted = inOrder.toSorted();
  /** The time of an undisturbed query. */
  const fastMs = at(sorted, 0.1);
  if (!(fastMs > 0)) return null;
  const meanMs = inOrder.reduce((sum, value) => sum + value, 0) / inOrder.length;
  return { inOrder, sorted, medianMs: at(sorted, 0.5), fastMs, meanMs };
}

/** The value below which the given share of the values lies. */
export function at(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/**
 * Whether the queries have the GPU to themselves. Overlapping queries of several streams affect each other as another
 * process would, and so does a neighbor.
 */
export function isAlone({ hasNeighbor = false, log }: FitnessFacts): boolean {
  if (hasNeighbor) return false;
  return log.options.streams === null || log.options.streams === 1;
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value.toFixed(Math.abs(value) < 10 ? 1 : 0)} %`;
}

export function shortMs(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** From TensorRT 11.0 on, the profiled run is always separate, after the summary. */
const ALWAYS_SEPARATE = 11;

/**
 * Whether the profiler was attached during the timed part. `--separateProfileRun` attaches it after the summary, so the
 * times are valid.
 */
export function timedUnderProfiler(log: TrtexecRun, hasProfile: boolean): boolean {
  const { profile, exportProfile, separateProfiling } = log.options;
  const isProfiled =
    log.profile !== null || profile === true || exportProfile !== null || (profile === null && hasProfile);
  const isSeparate = separateProfiling === true || (log.tensorrtVersion?.major ?? 0) >= ALWAYS_SEPARATE;
  return isProfiled && !(isSeparate && log.measurement !== null);
}

/** Whether the log shows a profiler; `marked` handles the environment variables that show one. */
export function profiled({ log }: Pick<FitnessFacts, 'log'>): RunFlag | null {
  const nsys = log.hints.find(({ id }) => id === 'nsys');
  if (!timedUnderProfiler(log, false) && nsys === undefined) return null;
  const option = log.options.exportProfile === null ? '--dumpProfile' : '--exportProfile';
  const evidence =
    nsys === undefined
      ? `it was timed with trtexec's profiler attached (${option})`
      : `it ran under Nsight Systems: ${nsys.text}`;
  return { id: 'profilingOn', effect: 'barred', value: null, evidence };
}

/**
 * If the larger level's share exceeds a half by this much, the median lies in that level, and it will in the next run,
 * too.
 */
const FIRM_SHARE = 0.1;

/** Query times have two levels, such as two clock states. The median, by which a run is judged, lies in one of them. */
export function bimodal({ sorted }: ComputeTimes): RunFlag | null {
  const levels = twoLevels(sorted);
  if (levels === null) return null;
  const { share, lower, upper } = levels;
  const [most, other] = share > 0.5 ? [lower, upper] : [upper, lower];
  const evidence = `${percent(Math.max(share, 1 - share))} of queries at ${shortMs(most)} ms, the others at ${shortMs(other)} ms`;
  const effect = Math.abs(share - 0.5) >= FIRM_SHARE ? 'explained' : 'widened';
  return { id: 'bimodal', effect, value: (upper / lower - 1) * 100, evidence };
}

/** From this step on, in percent of the median, the timer counts as coarse. A single time may be off by half a step. */
const VISIBLE_PERCENT = 0.2;
/** The timer gets coarser during a run: its last queries show the final step. */
const LAST_QUERIES = 256;
/** Times on a grid repeat: with a larger share of distinct ones there is no grid. */
const DISTINCT_SHARE = 0.5;

export function coarseTimer(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  const seen = compute === null ? stepByLength(facts) : stepSeen(compute);
  const medianMs = compute?.medianMs ?? facts.log.measurement?.gpuComputeMs.median ?? 0;
  if (seen === null || medianMs <= 0) return null;
  const stepPercent = (seen / medianMs) * 100;
  if (stepPercent < VISIBLE_PERCENT) return null;
  const evidence = `the timer's step of ${Number((seen * 1000).toPrecision(3))} µs is ${stepPercent.toFixed(2)} % of the median`;
  return { id: 'coarseTimer', effect: 'widened', value: stepPercent, evidence };
}

function stepSeen({ inOrder, medianMs }: ComputeTimes): number | null {
  const last = inOrder.slice(-LAST_QUERIES).toSorted();
  const steps = last.subarray(1).map((value, place) => value - (last[place] ?? 0));
  const visible = steps.filter((step) => step > 1e-9 * medianMs);
  const isGrid = visible.length > 0 && visible.length + 1 <= DISTINCT_SHARE * last.length;
  return isGrid ? visible.reduce((least, step) => Math.min(least, step), Infinity) : null;
}

/** Bits of a float32's mantissa, including the leading bit. */
const FLOAT_BITS = 24;

/**
 * Milliseconds between neighboring float32 values at the end of the run: trtexec subtracts times that it counts from
 * before the warm-up.
 */
function stepByLength({ log }: FitnessFacts): number | null {
  const walltimeS = log.measurement?.hostWalltimeS ?? 0;
  const endMs = walltimeS * 1000 + (log.options.warmUpMs ?? 0);
  return endMs > 0 ? 2 ** (Math.floor(Math.log2(endMs)) + 1 - FLOAT_BITS) : null;
}
