import { ExportFormatError } from '../../errors.ts';
import type { Measurement } from '../../records/harness.ts';
import { median } from '../../statistics/order-statistics.ts';
import { isOneOf, isRecord } from '../../text/unknown-values.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../run-facts.ts';
import { LargeTimesBuilder, PIECE_ROWS, withoutFirst } from '../samples/large-times.ts';
import { parseJson } from './json-repair.ts';

const [OPEN, CLOSE, END] = [0x7b, 0x7d, 0x5d];
const [MINUS, POINT, ZERO, NINE] = [0x2d, 0x2e, 0x30, 0x39];
/** Powers of ten that a double holds exactly: an integer below 2^53 divided by one is correctly rounded. */
const EXACT_POWERS = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
const MAX_EXACT_DIGITS = 15;
/** A row of trtexec has 15 numbers and 400 bytes. */
const MAX_ROW_BYTES = 1 << 18;
const MAX_COLUMNS = 100;
const NOTHING = Buffer.alloc(0);
const NO_COLUMN = new Float64Array(0);

/**
 * Reads the `--exportTimes` of TensorRT 7.0 to 11.x in chunks, and keeps the result packed, so a file of any size needs
 * little memory. The rows are flat objects with the same keys in the same order, and all values are numbers. The text
 * between the numbers is learned from the first row and compared bytewise in the others; `JSON.parse` reads a row that
 * differs. This is faster than `JSON.parse` of the whole file and gives the same doubles.
 */
export class TimesReader {
  private readonly large = new LargeTimesBuilder();
  private carry = NOTHING;
  private names: readonly string[] = [];
  private literals: readonly Buffer[] = [];
  private columns: readonly Float64Array[] = [];
  private count = 0;
  private isClosed = false;

  push(chunk: Buffer): void {
    const bytes = this.carry.length === 0 ? chunk : Buffer.concat([this.carry, chunk]);
    // A truncated row waits for its rest: a read beyond the end makes every row several times slower in V8.
    const lastClose = bytes.lastIndexOf(CLOSE);
    let at = 0;
    let open = bytes.indexOf(OPEN);
    for (; open !== -1 && open < lastClose; open = bytes.indexOf(OPEN, at)) at = this.row(bytes, open);
    this.carry = open === -1 ? NOTHING : Buffer.from(bytes.subarray(open));
    if (this.carry.length > MAX_ROW_BYTES) throw new ExportFormatError(`row ${this.place()} does not end`);
    if (open === -1 && bytes.includes(END, at)) this.isClosed = true;
  }

  /** @throws ExportFormatError if the file is truncated or not such an array */
  end(): QueryTimes {
    if (this.carry.length > 0 || !this.isClosed) {
      throw new ExportFormatError('the file ends in the middle: the array is not closed');
    }
    const rest = this.piece();
    if (this.large.isEmpty) return rest;
    if (rest.count > 0) this.large.add(rest);
    return this.large.end();
  }

  private piece(): QueryTimes {
    return normalize(this.names.map((name, index) => [name, this.columns[index]?.slice(0, this.count) ?? NO_COLUMN]));
  }

  /** Reads the row that begins at `open`; returns the offset of its end. */
  private row(bytes: Buffer, open: number): number {
    if (this.literals.length === 0) this.learn(bytes.toString('latin1', open, bytes.indexOf(CLOSE, open) + 1));
    if (this.count === PIECE_ROWS) {
      this.large.add(this.piece());
      this.count = 0;
    } else if (this.count === (this.columns[0] ?? NO_COLUMN).length) this.grow();
    const end = this.fastRow(bytes, open) ?? this.slowRow(bytes, open);
    this.count += 1;
    return end;
  }

  private learn(text: string): void {
    this.names = Object.keys(readRow(text));
    if (this.names.length > MAX_COLUMNS) throw new ExportFormatError(`its rows have ${this.names.length} fields`);
    let rest = text;
    const literals = this.names.map((name) => {
      const colon = rest.indexOf(':', rest.indexOf(`"${name}"`));
      const start = colon + 1 + rest.slice(colon + 1).search(/\S/);
      const literal = rest.slice(0, start);
      rest = rest.slice(start).replace(/^[-+\w.]+/, '');
      return literal;
    });
    this.literals = [...literals, rest].map((literal) => Buffer.from(literal, 'latin1'));
    this.columns = this.names.map(() => NO_COLUMN);
  }

  private grow(): void {
    this.columns = this.columns.map((old) => {
      const larger = new Float64Array(Math.max(1024, old.length * 2));
      larger.set(old);
      return larger;
    });
  }

  /** Number of the row that is being read, from 1. */
  private place(): number {
    return this.large.count + this.count + 1;
  }

  /** Null if the row does not look like the first one. */
  private fastRow(bytes: Buffer, open: number): number | null {
    let at = open;
    for (let field = 0; field < this.columns.length; field += 1) {
      at = skipLiteral(bytes, at, this.literals[field] ?? NOTHING);
      const isNegative = bytes[at] === MINUS;
      if (isNegative) at += 1;
      let [mantissa, digits, decimals] = [0, 0, -1];
      for (; ; at += 1) {
        const byte = bytes[at] ?? 0;
        if (byte >= ZERO && byte <= NINE) {
          mantissa = mantissa * 10 + (byte - ZERO);
          digits += 1;
          if (decimals >= 0) decimals += 1;
        } else if (byte === POINT && decimals < 0) decimals = 0;
        else break;
      }
      if (digits === 0 || digits > MAX_EXACT_DIGITS) return null;
      const value = decimals > 0 ? mantissa / (EXACT_POWERS[decimals] ?? 1) : mantissa;
      (this.columns[field] ?? NO_COLUMN)[this.count] = isNegative ? -value : value;
    }
    const end = skipLiteral(bytes, at, this.literals[this.columns.length] ?? NOTHING);
    return end > bytes.length ? null : end;
  }

  private slowRow(bytes: Buffer, open: number): number {
    const end = bytes.indexOf(CLOSE, open) + 1;
    const row = readRow(bytes.toString('latin1', open, end));
    for (const [index, name] of this.names.entries()) {
      const value = row[name];
      if (value === undefined) throw new ExportFormatError(`row ${this.place()} has no "${name}"`);
      if (!Number.isFinite(value)) throw new ExportFormatError(`row ${this.place()}: "${name}" is not a finite number`);
      (this.columns[index] ?? NO_COLUMN)[this.count] = value;
    }
    return end;
  }
}

/** The offset after `literal`; far beyond the end if the bytes differ. */
function skipLiteral(bytes: Buffer, at: number, literal: Buffer): number {
  for (let i = 0; i < literal.length; i += 1) if (bytes[at + i] !== literal[i]) return Number.MAX_SAFE_INTEGER;
  return at + literal.length;
}

/** One flat object of numbers. trtexec writes `nan` and `inf` as C++ does, which is not JSON. */
function readRow(text: string): Record<string, number> {
  const parsed = parseJson(text.replace(/:\s*-?(?:nan|inf)\b/gi, ': null'), `not JSON: ${text.slice(0, 60)}`);
  if (!isRecord(parsed)) throw new ExportFormatError(`not an object: ${text.slice(0, 60)}`);
  const row: Record<string, number> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (value !== null && typeof value !== 'number') throw new ExportFormatError(`"${name}" is not a number`);
    row[name] = value ?? Number.NaN;
  }
  return row;
}

/** TensorRT 7 used In and Out for what has been H2d and D2h since 8.0. */
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

function normalize(columns: readonly (readonly [string, Float64Array])[]): QueryTimes {
  const names = columns.map(([name]) => name);
  const isSwapped = names.includes('startInMs') && names.includes('startEnqMs');
  const result: Partial<Record<QueryTimeColumn, Float64Array>> = {};
  for (const [name, values] of columns) {
    const current = (isSwapped ? SWAPPED_7[name] : undefined) ?? NAMES_7[name] ?? name;
    if (isOneOf(QUERY_TIME_COLUMNS, current)) result[current] = values;
  }
  const count = columns[0]?.[1].length ?? 0;
  if (count > 0 && result.computeMs === undefined) {
    throw new ExportFormatError('no "computeMs" in its rows: not a file of --exportTimes');
  }
  return { count, columns: result };
}

interface LoggedQueries {
  /** Number of queries in the timing trace. */
  readonly queries: number | null;
  readonly tensorrtVersion: TensorrtVersion | null;
  readonly measurement: Measurement | null;
}

/** A file next to a log describes other queries or another engine. */
export class OtherRunError extends Error {
  override readonly name = 'OtherRunError';
}

/** Relative tolerance: both files print the same times with six digits. */
const PRINTED = 1e-3;

/** @throws OtherRunError if the log describes other queries */
export function timesOfRun(times: QueryTimes, logged: LoggedQueries): QueryTimes {
  const timed = withoutWarmUp(times, logged);
  const problem = logged.measurement === null ? null : otherTimes(timed, logged.measurement);
  if (problem !== null) throw new OtherRunError(problem);
  return timed;
}

/** Removes the warm-up rows, which precede the timed ones up to 8.4. */
function withoutWarmUp(times: QueryTimes, { queries, tensorrtVersion: version }: LoggedQueries): QueryTimes {
  const extra = queries === null ? 0 : times.count - queries;
  if (extra === 0) return times;
  const hasWarmUp = version === null || version.major < 8 || (version.major === 8 && version.minor <= 4);
  if (extra > 0 && hasWarmUp) return withoutFirst(times, extra);
  throw new OtherRunError(`${times.count} rows, but the log says that ${queries} queries were timed`);
}

function otherTimes({ columns }: QueryTimes, { gpuComputeMs }: Measurement): string | null {
  const own = columns.computeMs === undefined ? null : median(columns.computeMs);
  const stated = gpuComputeMs.median;
  return own === null || Math.abs(own - stated) <= PRINTED * stated
    ? null
    : `its median GPU compute time is ${Number(own.toPrecision(6))} ms, that of the summary ${stated} ms`;
}
