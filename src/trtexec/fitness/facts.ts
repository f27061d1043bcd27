import type { Environment } from '../../records/environment.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import type { TrtexecRun } from '../log/parsed-log.ts';
import type { DerivedValues, QueryTimes } from '../run-facts.ts';

export interface FitnessFacts {
  readonly log: TrtexecRun;
  readonly derived: DerivedValues;
  readonly times: QueryTimes | null;
  readonly telemetry: RunTelemetry | null;
  /** Facts about the machine from outside the log; empty if nobody looked. */
  readonly machine: Partial<Environment>;
}

/** The GPU compute times of a run's queries, in milliseconds. */
export interface ComputeTimes {
  readonly inOrder: Float64Array;
  readonly sorted: Float64Array;
  readonly medianMs: number;
  /** The 10 % quantile: the time of an undisturbed query. */
  readonly fastMs: number;
  readonly meanMs: number;
}

/** The distribution of fewer queries means nothing. */
const LEAST_QUERIES = 30;

/** Null if there are no exported times, or too few. */
export function computeTimesOf(times: QueryTimes | null): ComputeTimes | null {
  const inOrder = times?.columns.computeMs;
  if (inOrder === undefined || inOrder.length < LEAST_QUERIES) return null;
  const sorted = inOrder.toSorted();
  const medianMs = at(sorted, 0.5);
  const fastMs = at(sorted, 0.1);
  if (!(fastMs > 0)) return null;
  let sum = 0;
  for (const value of inOrder) sum += value;
  return { inOrder, sorted, medianMs, fastMs, meanMs: sum / inOrder.length };
}

/** The value below which the given share of the values lies. */
export function at(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Queries of several streams overlap on the GPU and affect each other as another process would. */
export function hasOneStream({ log }: FitnessFacts): boolean {
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
