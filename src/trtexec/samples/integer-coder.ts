/** Per context: whether it is 0, its sign, its number of digits, and for each number the two digits after the first. */
const SLOTS = 256;
const LENGTH_AT = 2;
const DIGITS_AT = 64;
const LEARNED_DIGITS = 2;
/** The slot of an even bit, whose probability is not learned. */
const EVEN = 0;

const MASK = 2 ** 24 - 1;
const TOP = 16;
const BYTE = 8;
/** What a reader holds beyond the byte that ends it all. */
const AHEAD = 2;

const LEAST = 2 ** -12;
/** How far a probability goes to what came, by how often something came. */
const RATES = Float64Array.from({ length: 30 }, (_, seen) => 1 / (seen + 1.6));
const POWERS = Float64Array.from({ length: 54 }, (_, digits) => 2 ** digits);

export interface CoderMemory {
  /** Probabilities that a bit is 1, by slot; means nothing before the slot was seen. */
  readonly ones: Float64Array;
  readonly seen: Uint8Array;
}

export function coderMemory(contexts: number): CoderMemory {
  const slots = 1 + contexts * SLOTS;
  return { ones: new Float64Array(slots), seen: new Uint8Array(slots) };
}

/**
 * Integers as one row of bytes, each binary digit by its probability, which is learned from those before it in the same
 * context: an adaptive binary arithmetic coder (Witten, Neal and Cleary 1987), and integers as sign, number of digits,
 * digits (Elias 1975). One path writes and reads, so both learn the same.
 */
export class IntegerCoder {
  private low = 0;
  private high = MASK;
  private value = 0;
  private at = 0;
  private bytes: Buffer;
  private readonly isReading: boolean;
  private readonly ones: Float64Array;
  private readonly seen: Uint8Array;

  /**
   * @param memory what it learns; the memory of a coder that is no longer used, or a new one
   * @param source bytes to read; null to write
   */
  constructor(memory: CoderMemory, source: Buffer | null) {
    this.isReading = source !== null;
    this.bytes = source ?? Buffer.alloc(2 ** 13);
    this.ones = memory.ones;
    this.seen = memory.seen.fill(0);
    if (this.isReading) for (let byte = 0; byte <= AHEAD; byte += 1) this.shift();
  }

  /**
   * @param value what to write, below 2 ** 53 in size; means nothing to a reader
   * @returns the value, as a reader gets it
   * @throws RangeError of a reader, after the last byte
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

  /** @throws RangeError of a reader, before the last byte */
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
      const learned = ones + ((isOne ? 1 - LEAST : LEAST) - ones) * (RATES[seen] ?? 0);
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
