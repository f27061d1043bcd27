/** Bits of the exponent in the highest bytes of a little-endian float; all set: infinity or not a number. */
const EXPONENTS: Readonly<Record<string, number>> = { '<f2': 0x7c00, '<f4': 0x7f80, '<f8': 0x7ff0 };

/** Looks for values that are not finite in an array that comes in pieces of any size. Integers are finite always. */
export class FiniteCheck {
  private readonly size: number;
  private readonly exponent: number | null;
  private seen = 0;
  private before = 0;
  private found = 0;

  constructor(descr: string) {
    this.exponent = EXPONENTS[descr] ?? null;
    this.size = Number(descr.slice(2));
  }

  /** Only the two highest bytes of each value tell: the last two in little-endian order. */
  push(chunk: Uint8Array): void {
    const { exponent, size } = this;
    if (exponent === null) return;
    let last = size - 1 - (this.seen % size);
    if (last < chunk.length && last === 0) {
      this.count(this.before, chunk[0] ?? 0, exponent);
      last += size;
    }
    for (; last < chunk.length; last += size) {
      this.count(chunk[last - 1] ?? 0, chunk[last] ?? 0, exponent);
    }
    this.before = chunk.at(-1) ?? this.before;
    this.seen += chunk.length;
  }

  private count(low: number, high: number, exponent: number): void {
    if ((((high << 8) | low) & exponent) === exponent) this.found += 1;
  }

  /** Values that are infinite or not a number. */
  get notFinite(): number {
    return this.found;
  }
}
