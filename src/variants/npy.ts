/** numpy's array format (numpy.lib.format), versions 1 to 3: what is before the values. */
interface NpyHeader {
  /** As numpy writes it, such as `<f4`. */
  readonly descr: string;
  readonly shape: readonly number[];
  readonly dataAt: number;
}

const MAGIC = Buffer.from('\u0093NUMPY', 'latin1');
const ALIGNMENT = 64;
/** The header of an array of plain numbers is shorter. */
const LONGEST_HEADER = 1 << 16;

/** numpy's names of ONNX input types. numpy has no bfloat16 and no float8. */
export const NPY_TYPES: Readonly<Record<string, string>> = {
  float16: '<f2',
  float32: '<f4',
  float64: '<f8',
  int8: '|i1',
  int16: '<i2',
  int32: '<i4',
  int64: '<i8',
  uint8: '|u1',
  uint16: '<u2',
  uint32: '<u4',
  uint64: '<u8',
  bool: '|b1',
};

export function itemBytes(descr: string): number {
  return Number(/\d+$/.exec(descr)?.[0] ?? 0);
}

/** Number of bytes needed to read the header; null if it is not an array. */
export function headerBytes(start: Buffer): number | null {
  if (start.length < 12 || !start.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  const isShort = start[6] === 1;
  const length = isShort ? start.readUInt16LE(8) : start.readUInt32LE(8);
  return length > LONGEST_HEADER ? null : (isShort ? 10 : 12) + length;
}

/** Null if it is not a header. Python writes it as a dict literal. */
export function readNpyHeader(bytes: Buffer): NpyHeader | null {
  const dataAt = headerBytes(bytes);
  if (dataAt === null || bytes.length < dataAt) return null;
  const text = bytes.toString('utf8', bytes[6] === 1 ? 10 : 12, dataAt);
  const descr = /'descr'\s*:\s*'(?<descr>[^']+)'/.exec(text)?.groups?.['descr'];
  const dimensions = /'shape'\s*:\s*\((?<shape>[\d,\sL]*)\)/.exec(text)?.groups?.['shape'];
  if (descr === undefined || dimensions === undefined) return null;
  const shape = dimensions
    .split(',')
    .map((part) => part.replace('L', '').trim())
    .filter((part) => part !== '')
    .map(Number);
  return { descr, shape, dataAt };
}

/** The header that numpy itself writes for an array in C order. */
export function writeNpyHeader(descr: string, shape: readonly number[]): Buffer {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const unpadded = 10 + text.length + 1;
  const padded = text + ' '.repeat((ALIGNMENT - (unpadded % ALIGNMENT)) % ALIGNMENT) + '\n';
  const head = Buffer.alloc(10);
  MAGIC.copy(head);
  head[6] = 1;
  head.writeUInt16LE(padded.length, 8);
  return Buffer.concat([head, Buffer.from(padded, 'latin1')]);
}

/** Exponent bits in the highest bytes of a little-endian float; all set: infinity or NaN. */
const EXPONENTS: Readonly<Record<string, number>> = { '<f2': 0x7c00, '<f4': 0x7f80, '<f8': 0x7ff0 };

/** Finds infinite and NaN values in an array that arrives in chunks of any size. Integers are always finite. */
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

  /** Only the two highest bytes of each value matter: the last two in little-endian order. */
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

  get notFinite(): number {
    return this.found;
  }
}
