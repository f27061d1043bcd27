import { ExportFormatError } from '../../errors.ts';
import type { Measurement } from '../../records/measurement.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../run-facts.ts';
import { LargeTimesBuilder, PIECE_ROWS, withoutFirst } from '../samples/large-times.ts';
import { RowScanner } from './row-scanner.ts';

/** Reads chunks, and keeps what is read packed: a file of any size needs little memory. TensorRT 7.0 to 11.x. */
export class TimesReader {
  private readonly large = new LargeTimesBuilder();
  private readonly scanner = new RowScanner(PIECE_ROWS, (columns) => this.large.add(normalize(columns)));

  push(chunk: Buffer): void {
    this.scanner.push(chunk);
  }

  /** @throws ExportFormatError if the file is truncated or not such an array */
  end(): QueryTimes {
    const rest = normalize(this.scanner.end());
    if (this.large.isEmpty) return rest;
    if (rest.count > 0) this.large.add(rest);
    return this.large.end();
  }
}

/** TensorRT 7 used In and Out for what is H2d and D2h since 8.0. */
const NAMES_7: Readonly<Record<string, QueryTimeColumn>> = {
  startInMs: 'startH2dMs',
  endInMs: 'endH2dMs',
  startOutMs: 'startD2hMs',
  endOutMs: 'endD2hMs',
  inMs: 'h2dMs',
  outMs: 'd2hMs',
};
/** 7.1 and 7.2 wrote the input stamps under the enqueue labels, and vice versa. */
const SWAPPED_7: Readonly<Record<string, QueryTimeColumn>> = {
  startEnqMs: 'startH2dMs',
  endEnqMs: 'endH2dMs',
  startInMs: 'startEnqMs',
  endInMs: 'endEnqMs',
};

function normalize(columns: ReadonlyMap<string, Float64Array>): QueryTimes {
  const swapped = columns.has('startInMs') && columns.has('startEnqMs');
  const known = new Set<string>(QUERY_TIME_COLUMNS);
  const result: Partial<Record<QueryTimeColumn, Float64Array>> = {};
  let count = 0;
  for (const [name, values] of columns) {
    const current = (swapped ? SWAPPED_7[name] : undefined) ?? NAMES_7[name] ?? name;
    count = values.length;
    if (isColumn(current, known)) result[current] = values;
  }
  if (count > 0 && result.computeMs === undefined) {
    throw new ExportFormatError('no "computeMs" in its rows: not a file of --exportTimes');
  }
  return { count, columns: result };
}

function isColumn(name: string, known: ReadonlySet<string>): name is QueryTimeColumn {
  return known.has(name);
}

interface LoggedQueries {
  /** In the timing trace. */
  readonly queries: number | null;
  readonly tensorrtVersion: TensorrtVersion | null;
  readonly measurement: Measurement | null;
}

/** A file that lies next to a log and tells of other queries, or of another engine. */
export class OtherRunError extends Error {
  override readonly name = 'OtherRunError';
}

/** Relative tolerance: both have six digits of the same times. */
const PRINTED = 1e-3;

/** @throws OtherRunError if the log describes other queries */
export function timesOfRun(times: QueryTimes, logged: LoggedQueries): QueryTimes {
  const timed = withoutWarmUp(times, logged);
  const problem = logged.measurement === null ? null : otherTimes(timed, logged.measurement);
  if (problem !== null) throw new OtherRunError(problem);
  return timed;
}

/** Up to 8.4 the warmup rows precede the timed ones. */
function withoutWarmUp(times: QueryTimes, { queries, tensorrtVersion }: LoggedQueries): QueryTimes {
  const extra = queries === null ? 0 : times.count - queries;
  if (extra === 0) return times;
  if (extra < 0 || !exportsWarmUp(tensorrtVersion)) {
    throw new OtherRunError(`${times.count} rows, but the log says that ${queries} queries were timed`);
  }
  return withoutFirst(times, extra);
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
