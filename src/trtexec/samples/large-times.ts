import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../run-facts.ts';
import { CONTEXTS, IntegerCoder, codeTimes, coderMemory } from './sample-codec.ts';

/** Number of queries that are packed at once. */
export const PIECE_ROWS = 1 << 16;

/** Nearly every run is judged by these columns, so they stay unpacked. */
const KEPT: ReadonlySet<QueryTimeColumn> = new Set(['computeMs', 'latencyMs']);

/** All coders share it: each one ends before the next begins. */
const MEMORY = coderMemory(CONTEXTS);

export function packTimes(times: QueryTimes): Buffer {
  const coder = new IntegerCoder(MEMORY, null);
  codeTimes(coder, times);
  return coder.end();
}

/** @throws if `packTimes` did not write the bytes */
export function unpackTimes(bytes: Buffer): QueryTimes {
  const coder = new IntegerCoder(MEMORY, bytes);
  const times = codeTimes(coder, null);
  coder.end();
  return times;
}

/**
 * The queries of all pieces, one after the other, with the named columns.
 * @throws if `count` is not that of the pieces, or `packTimes` did not write a piece
 */
export function joinPieces(
  pieces: readonly Buffer[],
  count: number,
  names: readonly QueryTimeColumn[] = QUERY_TIME_COLUMNS,
): QueryTimes {
  if (count > pieces.length * PIECE_ROWS) throw new RangeError(COUNT_DIFFERS);
  const joined: Partial<Record<QueryTimeColumn, Float64Array>> = {};
  let row = 0;
  for (const piece of pieces) {
    const { columns, count: rows } = unpackTimes(piece);
    for (const name of names) {
      const values = columns[name];
      if (values !== undefined) (joined[name] ??= new Float64Array(count)).set(values, row);
    }
    row += rows;
  }
  if (row !== count) throw new RangeError(COUNT_DIFFERS);
  return { count, columns: joined };
}

const COUNT_DIFFERS = 'the number of samples differs from the stated number';

/** Removes the first queries. */
export function withoutFirst(times: QueryTimes, queries: number): QueryTimes {
  if (times instanceof LargeTimes) return times.withoutFirst(queries);
  const { columns, count } = times;
  const rest = Object.entries(columns).map(([name, values]) => [name, values.slice(queries)]);
  return { count: count - queries, columns: Object.fromEntries(rest) };
}

/** Keeps a query in about four bytes instead of a hundred. The less usual columns are unpacked at each access. */
export class LargeTimes implements QueryTimes {
  readonly count: number;
  readonly columns: QueryTimes['columns'] = {};
  readonly pieces: readonly Buffer[];

  constructor(count: number, pieces: readonly Buffer[], columns: ReadonlyMap<QueryTimeColumn, Float64Array | null>) {
    this.count = count;
    this.pieces = pieces;
    for (const [name, kept] of columns) {
      Object.defineProperty(this.columns, name, { enumerable: true, get: () => kept ?? this.unpack(name) });
    }
  }

  withoutFirst(queries: number): LargeTimes {
    const builder = new LargeTimesBuilder();
    let left = queries;
    for (const piece of this.pieces) {
      const times = unpackTimes(piece);
      if (left < times.count) builder.add(withoutFirst(times, left));
      left = Math.max(0, left - times.count);
    }
    return builder.end();
  }

  private unpack(name: QueryTimeColumn): Float64Array {
    return joinPieces(this.pieces, this.count, [name]).columns[name] ?? NONE;
  }
}

export class LargeTimesBuilder {
  private readonly pieces: Buffer[] = [];
  private readonly kept = new Map<QueryTimeColumn, Float64Array>();
  private columns: readonly QueryTimeColumn[] = [];
  count = 0;

  get isEmpty(): boolean {
    return this.count === 0;
  }

  /** @param times not empty, and with the same columns each time; the caller may overwrite their arrays afterwards */
  add(times: QueryTimes): void {
    // Copied, because the buffer of the coder is twice as large.
    this.pieces.push(Buffer.from(packTimes(times)));
    this.columns = QUERY_TIME_COLUMNS.filter((name) => times.columns[name] !== undefined);
    for (const name of this.columns) if (KEPT.has(name)) this.keep(name, times.columns[name] ?? NONE);
    this.count += times.count;
  }

  end(): LargeTimes {
    const columns = this.columns.map((name) => [name, this.kept.get(name)?.subarray(0, this.count) ?? null] as const);
    return new LargeTimes(this.count, this.pieces, new Map(columns));
  }

  private keep(name: QueryTimeColumn, values: Float64Array): void {
    const end = this.count + values.length;
    let column = this.kept.get(name) ?? NONE;
    if (end > column.length) {
      const larger = new Float64Array(Math.max(end, 2 * column.length));
      larger.set(column);
      this.kept.set(name, (column = larger));
    }
    column.set(values, this.count);
  }
}

const NONE = new Float64Array(0);
