import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../run-facts.ts';

const DIGITS = 6;
/** Powers of ten from 1e-9 to 1e5. Numbers with six digits have ranks, counted from the first decade. */
const DECADES = Float64Array.from({ length: 15 }, (_, decade) => Number(`1e${decade - 9}`));
/** Numbers of six digits in a decade, and the smallest such integer. */
const [PER_DECADE, LEAST] = [900_000, 100_000];
/** Factors that turn a number of a decade into an integer of six digits. */
const SCALES = DECADES.map((_, decade) => Number(`1e${DIGITS + 8 - decade}`));
const RANKS = DECADES.length * PER_DECADE;

/** True for 0 and for numbers with at most six digits, from 1e-9 up to a million. */
function isPrinted(value: number): boolean {
  return value === printedAt(rankOf(value)) && !Object.is(value, -0);
}

/**
 * Rank among the numbers with six digits: how many are smaller than the one nearest to `value`. 0 for 0, and for
 * anything below 1e-9.
 */
function rankOf(value: number): number {
  const decade = decadeOf(value);
  if (decade < 0) return 0;
  return Math.min(decade * PER_DECADE + Math.round(value * (SCALES[decade] ?? 0)) + 1 - LEAST, RANKS);
}

/** The number with six digits that has this rank. */
function printedAt(rank: number): number {
  if (rank <= 0) return 0;
  const decade = Math.floor((rank - 1) / PER_DECADE);
  return (rank - 1 - decade * PER_DECADE + LEAST) / (SCALES[decade] ?? 1);
}

/** The distance of two neighboring numbers with six digits at `value`. */
function unitAt(value: number): number {
  return 1 / (SCALES[Math.max(0, decadeOf(value))] ?? 1);
}

function decadeOf(value: number): number {
  let decade = value >= 1 ? 9 : value >= 0.01 ? 7 : 0;
  while (decade < DECADES.length && value >= (DECADES[decade] ?? 0)) decade += 1;
  return value >= 1e-9 ? decade - 1 : -1;
}

/** The order of columns in a row: a value is predicted from values before it, or from earlier rows. */
const ORDER = [
  'startComputeMs',
  'computeMs',
  'endComputeMs',
  'startH2dMs',
  'h2dMs',
  'endH2dMs',
  'startD2hMs',
  'd2hMs',
  'endD2hMs',
  'latencyMs',
  'startEnqMs',
  'endEnqMs',
] as const satisfies readonly QueryTimeColumn[];

const SUMS: Readonly<Partial<Record<QueryTimeColumn, readonly QueryTimeColumn[]>>> = {
  endComputeMs: ['startComputeMs', 'computeMs'],
  endH2dMs: ['startH2dMs', 'h2dMs'],
  endD2hMs: ['startD2hMs', 'd2hMs'],
  latencyMs: ['h2dMs', 'computeMs', 'd2hMs'],
};

/** Columns that are differences of 32-bit floats, and so multiples of the last bit of a stamp. */
const DIFFERENCES: ReadonlySet<QueryTimeColumn> = new Set(['h2dMs', 'computeMs', 'd2hMs']);
const FLOAT_BITS = 23;
const MAX_TICK_BITS = 20;

/** A stamp may follow one that is less than LAGS rows back. The best choice is made from the first TRIED rows. */
const LAGS = 3;
const TRIED = 128;
/** Number of rows that a moving mean remembers. */
const MEMORY = 32;

/**
 * Contexts of the coder: one for the ranks of each column, one for its ticks (from TICKS on), and HEADER for the rest.
 */
const TICKS = ORDER.length;
const HEADER = 2 * ORDER.length;

/** How a column is written. From `FOLLOWS` on, the code also states the stamp that it follows and the lag. */
const ABSENT = 0;
const AS_DOUBLES = 1;
const BY_ITSELF = 2;
const FOLLOWS = 3;

type Columns = ReadonlyMap<QueryTimeColumn, Column>;

interface Column {
  readonly name: QueryTimeColumn;
  readonly values: Float64Array;
  readonly way: number;
  /** For durations that have ticks, the values as they were before they were printed; otherwise the values. */
  readonly exact: Float64Array;
}

const CONTEXTS = HEADER + 1;

/**
 * Writes or reads the times of all queries, equal to the last bit. A number of trtexec is coded by its rank among the
 * numbers with six digits, as the distance from a predicted rank. trtexec keeps stamps as 32-bit floats: durations are
 * whole ticks, the latency is a sum of durations, and an end is a start plus a duration. About four bytes a query
 * remain for all twelve columns. A column that contains any other number is written as doubles.
 * @param known null to read
 * @throws RangeError if the bytes to read are not in this format
 */
function codeTimes(coder: IntegerCoder, known: QueryTimes | null): QueryTimes {
  const count = coder.code(HEADER, known?.count ?? 0);
  const columns = new Map<QueryTimeColumn, Column>();
  for (const name of ORDER) {
    const way = coder.code(HEADER, known === null ? ABSENT : wayOf(name, known));
    if (way === ABSENT) continue;
    const values = known?.columns[name] ?? new Float64Array(count);
    columns.set(name, { name, values, way, exact: DIFFERENCES.has(name) ? new Float64Array(count) : values });
  }
  const steps = [...columns.values()].map((column) => stepOf(coder, column, columns));
  for (let row = 0; row < count; row += 1) for (const step of steps) step(row);
  if (coder.code(HEADER, count) !== count) throw new RangeError('the samples do not end as they begin');
  const inOrder = QUERY_TIME_COLUMNS.flatMap((name) => columns.get(name) ?? []);
  return { count, columns: Object.fromEntries(inOrder.map(({ name, values }) => [name, values])) };
}

function wayOf(name: QueryTimeColumn, { columns }: QueryTimes): number {
  const values = columns[name];
  if (values === undefined) return ABSENT;
  if (!values.every(isPrinted)) return AS_DOUBLES;
  if (SUMS[name]?.every((part) => columns[part] !== undefined) === true || !isStamp(name)) return BY_ITSELF;
  let [best, least] = [BY_ITSELF, Infinity];
  for (const [index, other] of ORDER.entries()) {
    const stamps = columns[other];
    if (stamps === undefined || !isStamp(other)) continue;
    for (let lag = index < ORDER.indexOf(name) ? 0 : 1; lag < LAGS; lag += 1) {
      const spread = spreadOf(values, stamps, lag);
      if (spread < least) [best, least] = [FOLLOWS + LAGS * index + lag, spread];
    }
  }
  return best;
}

function isStamp(name: QueryTimeColumn): boolean {
  return name.startsWith('start') || name.startsWith('end');
}

/** How badly a stamp is predicted by another one: the mean number of binary digits by which their distance varies. */
function spreadOf(values: Float64Array, stamps: Float64Array, lag: number): number {
  const mean = new MovingMean();
  let digits = 0;
  const rows = Math.min(values.length, TRIED);
  for (let row = lag; row < rows; row += 1) {
    const distance = (values[row] ?? 0) - (stamps[row - lag] ?? 0);
    digits += Math.log2(1 + 1000 * Math.abs(distance - mean.value));
    mean.add(distance);
  }
  return digits / Math.max(1, rows - lag);
}

class MovingMean {
  value = 0;
  private seen = 0;

  add(next: number): void {
    if (this.seen < MEMORY) this.seen += 1;
    this.value += (next - this.value) / this.seen;
  }
}

/** Returns the function that writes or reads the value of one row. */
function stepOf(coder: IntegerCoder, column: Column, columns: Columns): (row: number) => void {
  const { name, values, exact, way } = column;
  const context = ORDER.indexOf(name);
  if (way === AS_DOUBLES) return doublesStep(coder, context, column);
  const { parts, lag } = partsOf(column, columns);
  const stamps = DIFFERENCES.has(name) ? columns.get('startComputeMs')?.values : undefined;
  const mean = new MovingMean();
  const isSum = parts.length > 1;
  return (row) => {
    let base = 0;
    if (row >= lag) for (const part of parts) base += part[row - lag] ?? 0;
    let near = base + mean.value;
    const tick = stamps === undefined ? 0 : tickOf(stamps[row] ?? 0);
    const hasTick = tick > unitAt(near);
    if (hasTick) {
      const guess = Math.round(near / tick);
      near = tick * (guess + coder.code(TICKS + context, Math.round((values[row] ?? 0) / tick) - guess));
    }
    const rank = rankOf(near);
    const value = printedAt(rank + coder.code(context, rankOf(values[row] ?? 0) - rank));
    values[row] = value;
    exact[row] = hasTick ? near : value;
    if (!isSum && row >= lag) mean.add(value - base);
  };
}

/** The columns whose sum a value is, or the one that it follows. */
function partsOf({ name, way }: Column, columns: Columns): { parts: readonly Float64Array[]; lag: number } {
  const exactOf = (parts: readonly QueryTimeColumn[]) => parts.flatMap((part) => columns.get(part)?.exact ?? []);
  const followed = ORDER[Math.floor((way - FOLLOWS) / LAGS)];
  if (followed !== undefined) return { parts: exactOf([followed]), lag: (way - FOLLOWS) % LAGS };
  const sum = SUMS[name] ?? [];
  return { parts: sum.every((part) => columns.has(part)) ? exactOf(sum) : [], lag: 0 };
}

function tickOf(stampMs: number): number {
  return 1 / (1 << Math.min(MAX_TICK_BITS, FLOAT_BITS - 31 + Math.clz32(stampMs)));
}

function doublesStep(coder: IntegerCoder, context: number, { values, exact }: Column): (row: number) => void {
  const view = new DataView(new ArrayBuffer(8));
  return (row) => {
    view.setFloat64(0, values[row] ?? 0);
    for (const at of [0, 4]) view.setInt32(at, coder.code(context, view.getInt32(at)));
    exact[row] = values[row] = view.getFloat64(0);
  };
}

/**
 * The slots of a context: whether the number is 0, its sign, its count of digits, and, for each count, the two digits
 * after the first. A digit is binary.
 */
const SLOTS = 256;
const LENGTH_AT = 2;
const DIGITS_AT = 64;
const LEARNED_DIGITS = 2;
/** The slot of bits with equal chances, whose probability is not learned. */
const EVEN = 0;

const MASK = 2 ** 24 - 1;
const TOP = 16;
const BYTE = 8;
/** Number of bytes that a reader has read beyond the last one that it needs. */
const AHEAD = 2;

const LEAST_PROBABILITY = 2 ** -12;
/** How far a probability moves toward the new bit, by how often its slot was seen. */
const RATES = Float64Array.from({ length: 30 }, (_, seen) => 1 / (seen + 1.6));
const POWERS = Float64Array.from({ length: 54 }, (_, digits) => 2 ** digits);

/**
 * Codes integers as bytes. Each binary digit has a probability that is learned from earlier digits in the same context:
 * an adaptive binary arithmetic coder (Witten, Neal and Cleary 1987). An integer is its sign, number of digits, and
 * digits (Elias 1975). The same code writes and reads, so both learn the same.
 */
class IntegerCoder {
  private low = 0;
  private high = MASK;
  private value = 0;
  private at = 0;
  private bytes: Buffer;
  private readonly isReading: boolean;
  /** Probability that a bit is 1, by slot; meaningless until the slot was seen. */
  private readonly ones = new Float64Array(1 + CONTEXTS * SLOTS);
  private readonly seen = new Uint8Array(1 + CONTEXTS * SLOTS);

  /** @param source bytes to read; null to write */
  constructor(source: Buffer | null) {
    this.isReading = source !== null;
    this.bytes = source ?? Buffer.alloc(2 ** 13);
    if (this.isReading) for (let byte = 0; byte <= AHEAD; byte += 1) this.shift();
  }

  /**
   * @param value the number to write, less than 2 ** 53 in magnitude; ignored by a reader
   * @returns the value that was written or read
   * @throws RangeError if a reader is past the last byte
   */
  code(context: number, value: number): number {
    const slots = 1 + context * SLOTS;
    if (!this.bit(slots, value !== 0)) return 0;
    const isNegative = this.bit(slots + 1, value < 0);
    const size = Math.abs(value);
    let more = 0;
    while (this.bit(slots + LENGTH_AT + more, size >= (POWERS[more + 1] ?? Infinity))) more += 1;
    let digits = 1;
    for (let left = more - 1; left >= 0; left -= 1) {
      const slot = more - left > LEARNED_DIGITS ? EVEN : slots + DIGITS_AT + 3 * more + digits - 1;
      digits = 2 * digits + (this.bit(slot, size >= (2 * digits + 1) * (POWERS[left] ?? 1)) ? 1 : 0);
    }
    return isNegative ? -digits : digits;
  }

  /** @throws RangeError if a reader has not reached the last byte */
  end(): Buffer {
    if (!this.isReading) this.put(this.high >> TOP);
    else if (this.at !== this.bytes.length + AHEAD) throw new RangeError('bytes are left over');
    return this.bytes.subarray(0, this.at);
  }

  private bit(slot: number, given: boolean): boolean {
    const seen = this.seen[slot] ?? 0;
    const ones = seen === 0 ? 1 / 2 : (this.ones[slot] ?? 0);
    const middle = this.low + (((this.high - this.low) * ones) | 0);
    const isOne = this.isReading ? this.value <= middle : given;
    if (isOne) this.high = middle;
    else this.low = middle + 1;
    while (this.low >> TOP === this.high >> TOP) this.shift();
    if (slot !== EVEN) {
      const learned = ones + ((isOne ? 1 - LEAST_PROBABILITY : LEAST_PROBABILITY) - ones) * (RATES[seen] ?? 0);
      this.ones[slot] = learned;
      if (seen + 1 < RATES.length) this.seen[slot] = seen + 1;
    }
    return isOne;
  }

  private shift(): void {
    if (!this.isReading) this.put(this.high >> TOP);
    else if (this.at >= this.bytes.length + AHEAD) throw new RangeError('the bytes end too soon');
    else this.value = ((this.value << BYTE) & MASK) | (this.bytes[this.at++] ?? 0);
    this.low = (this.low << BYTE) & MASK;
    this.high = ((this.high << BYTE) & MASK) | (2 ** BYTE - 1);
  }

  private put(byte: number): void {
    if (this.at === this.bytes.length) this.bytes = Buffer.concat([this.bytes], 2 * this.at);
    this.bytes[this.at] = byte;
    this.at += 1;
  }
}

/** Number of queries that are packed at once. */
const PIECE_ROWS = 1 << 16;

/** @throws if `packedPieces` did not write the bytes */
export function unpackTimes(bytes: Buffer): QueryTimes {
  const coder = new IntegerCoder(bytes);
  const times = codeTimes(coder, null);
  coder.end();
  return times;
}

/**
 * The queries of all pieces, one after the other.
 * @throws if `count` is not that of the pieces, or `packedPieces` did not write a piece
 */
export function joinPieces(pieces: readonly Buffer[], count: number): QueryTimes {
  if (count > pieces.length * PIECE_ROWS) throw new RangeError(COUNT_DIFFERS);
  const joined: Partial<Record<QueryTimeColumn, Float64Array>> = {};
  let row = 0;
  for (const piece of pieces) {
    const { columns, count: rows } = unpackTimes(piece);
    for (const name of QUERY_TIME_COLUMNS) {
      const values = columns[name];
      if (values !== undefined) (joined[name] ??= new Float64Array(count)).set(values, row);
    }
    row += rows;
  }
  if (row !== count) throw new RangeError(COUNT_DIFFERS);
  return { count, columns: joined };
}

const COUNT_DIFFERS = 'the number of samples differs from the stated number';

/** The times of a long run, packed piece by piece. */
export function packedPieces({ columns, count }: QueryTimes): Buffer[] {
  return Array.from({ length: Math.max(1, Math.ceil(count / PIECE_ROWS)) }, (_, piece) => {
    const [from, to] = [piece * PIECE_ROWS, Math.min(count, (piece + 1) * PIECE_ROWS)];
    const rows = Object.entries(columns).map(([name, values]) => [name, values.subarray(from, to)]);
    const coder = new IntegerCoder(null);
    codeTimes(coder, { count: to - from, columns: Object.fromEntries(rows) });
    return coder.end();
  });
}
