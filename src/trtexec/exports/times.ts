import { ExportFormatError } from '../../errors.ts';
import { median } from '../../statistics/order-statistics.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { isAtLeast } from '../../text/version.ts';
import type { TrtexecRun } from '../log/run-builder.ts';
import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../run-facts.ts';
import { parseJson } from './json-repair.ts';

/** A row of trtexec has 15 numbers and 400 bytes. */
const MAX_ROW_BYTES = 1 << 18;
/** About a day of a fast network; the columns of more queries would exhaust memory. */
const MAX_QUERIES = 1 << 24;

/** Reads `--exportTimes` in chunks: an array of flat objects with the same keys, whose values are numbers. */
export class TimesReader {
  private carry = '';
  private names: readonly QueryTimeColumn[] = [];
  private columns: readonly Float64Array[] = [];
  private count = 0;
  private isClosed = false;

  push(chunk: Buffer): void {
    const text = this.carry + chunk.toString('latin1');
    const [open, end] = [text.indexOf('{'), text.lastIndexOf('}') + 1];
    if (open !== -1 && open < end) for (const row of rowsIn(text.slice(open, end), this.count)) this.take(row);
    const rest = end === 0 ? text : text.slice(end);
    this.isClosed ||= rest.includes(']');
    this.carry = rest.includes('{') ? rest : '';
    if (this.carry.length > MAX_ROW_BYTES) throw new ExportFormatError(`row ${this.count + 1} does not end`);
  }

  /** @throws ExportFormatError if the file is truncated or not such an array */
  end(): QueryTimes {
    if (this.carry !== '' || !this.isClosed) {
      throw new ExportFormatError('the file ends in the middle: the array is not closed');
    }
    if (this.count > 0 && !this.names.includes('computeMs')) {
      throw new ExportFormatError('no "computeMs" in its rows: not a file of --exportTimes');
    }
    const columns = this.names.map((name, index) => [name, this.columns[index]?.slice(0, this.count)]);
    return { count: this.count, columns: Object.fromEntries(columns) };
  }

  private take(row: unknown): void {
    if (!isRecord(row)) throw new ExportFormatError(`row ${this.count + 1} is not an object`);
    if (this.count === 0) this.names = QUERY_TIME_COLUMNS.filter((name) => name in row);
    if (this.count === MAX_QUERIES) throw new ExportFormatError(`it has more than ${MAX_QUERIES} rows`);
    if (this.count === (this.columns[0]?.length ?? 0)) this.grow();
    for (const [index, name] of this.names.entries()) {
      const value = row[name];
      if (typeof value !== 'number' || !Number.isFinite(value)) {
        throw new ExportFormatError(`row ${this.count + 1}: "${name}" is not a finite number`);
      }
      const column = this.columns[index];
      if (column !== undefined) column[this.count] = value;
    }
    this.count += 1;
  }

  private grow(): void {
    this.columns = this.names.map((_, index) => {
      const larger = new Float64Array(Math.max(1024, this.count * 2));
      larger.set(this.columns[index] ?? []);
      return larger;
    });
  }
}

/** Whole rows with commas in between. trtexec writes `nan` and `inf` as C++ does, which is not JSON. */
function rowsIn(text: string, before: number): readonly unknown[] {
  try {
    return JSON.parse(`[${text}]`);
  } catch {
    const mended = text.replace(/:\s*-?(?:nan|inf)\b/gi, ': null');
    const rows = parseJson(`[${mended}]`, `not JSON after row ${before}: ${text.slice(0, 60)}`);
    return Array.isArray(rows) ? rows : [];
  }
}

type LoggedQueries = Pick<TrtexecRun, 'measurement' | 'queries' | 'tensorrtVersion'>;

/** Relative tolerance: both files print the same times with six digits. */
const PRINTED = 1e-3;

/**
 * The times of the queries that the log counted: up to 8.4 the rows of the warm-up precede them.
 * @throws ExportFormatError if the log is of other queries
 */
export function timesOfRun(times: QueryTimes, { measurement, queries, tensorrtVersion }: LoggedQueries): QueryTimes {
  const extra = queries === null ? 0 : times.count - queries;
  if (extra < 0 || (extra > 0 && tensorrtVersion !== null && isAtLeast(tensorrtVersion, '8.5'))) {
    throw new ExportFormatError(`${times.count} rows, but the log says that ${queries} queries were timed`);
  }
  const rows = Object.entries(times.columns).map(([name, values]) => [name, values.subarray(extra)]);
  const timed: QueryTimes = { count: times.count - extra, columns: Object.fromEntries(rows) };
  const [own, stated] = [median(timed.columns.computeMs ?? []), measurement?.gpuComputeMs.median ?? null];
  if (own !== null && stated !== null && Math.abs(own - stated) > PRINTED * stated) {
    throw new ExportFormatError(`their median is ${Number(own.toPrecision(6))} ms, that of the summary ${stated} ms`);
  }
  return timed;
}
