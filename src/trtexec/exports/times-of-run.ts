import type { Measurement } from '../../records/measurement.ts';
import type { QueryTimes } from '../query-times.ts';
import type { TensorrtVersion } from '../../text/version.ts';

/** What a log says of the queries whose times were exported. */
export interface LoggedQueries {
  /** Of the timing trace. */
  readonly queries: number | null;
  readonly tensorrtVersion: TensorrtVersion | null;
  readonly measurement: Measurement | null;
}

/** A file that lies beside a log and tells of other queries, or of another engine. */
export class OtherRunError extends Error {
  override readonly name = 'OtherRunError';
}

/** Relative: both have six digits of the same times. */
const PRINTED = 1e-3;

/**
 * The timed queries in an export, and nothing that cannot be of the run.
 * @throws OtherRunError when the log tells of other queries
 */
export function timesOfRun(times: QueryTimes, logged: LoggedQueries): QueryTimes {
  const timed = withoutWarmUp(times, logged);
  const problem = logged.measurement === null ? null : otherTimes(timed, logged.measurement);
  if (problem !== null) throw new OtherRunError(problem);
  return timed;
}

/** Up to 8.4 the warm-up rows stand before the timed ones. */
function withoutWarmUp(times: QueryTimes, { queries, tensorrtVersion }: LoggedQueries): QueryTimes {
  const extra = queries === null ? 0 : times.count - queries;
  if (extra === 0) return times;
  if (extra < 0 || !exportsWarmUp(tensorrtVersion)) {
    throw new OtherRunError(`${times.count} rows, but the log says that ${queries} queries were timed`);
  }
  const columns = Object.fromEntries(
    Object.entries(times.columns).map(([name, values]) => [name, values.slice(extra)]),
  );
  return { count: times.count - extra, columns };
}

function exportsWarmUp(version: TensorrtVersion | null): boolean {
  return version === null || version.major < 8 || (version.major === 8 && version.minor <= 4);
}

function otherTimes({ columns }: QueryTimes, { gpuComputeMs }: Measurement): string | null {
  const sorted = columns.computeMs?.toSorted();
  if (sorted === undefined || sorted.length === 0) return null;
  const [below, above] = [sorted[(sorted.length - 1) >> 1] ?? 0, sorted[sorted.length >> 1] ?? 0];
  const own = (below + above) / 2;
  const stated = gpuComputeMs.median;
  return Math.abs(own - stated) <= PRINTED * stated
    ? null
    : `its median GPU compute time is ${Number(own.toPrecision(6))} ms, that of the summary ${stated} ms`;
}
