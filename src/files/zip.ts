import { crc32, deflateRawSync } from 'node:zlib';

export interface FileToZip {
  readonly name: string;
  /** Its bytes in pieces, which are generated when needed. */
  readonly pieces: () => readonly Buffer[];
  readonly isDeflated?: boolean;
}

/** 1 January 1980, the earliest date in a zip file. A constant date makes equal files give equal bytes. */
const DOS_DATE = 0x21;
const VERSION = 20;
const UTF8_NAMES = 0x800;
const DEFLATED = 8;
const MAX_BYTES = 0xffff_fffe;

interface Entry {
  readonly name: Buffer;
  readonly method: number;
  readonly crc: number;
  readonly bytes: number;
  readonly storedBytes: number;
}

/** A zip file in pieces. @throws RangeError above 4 GB */
export function* zipped(files: Iterable<FileToZip>): Generator<Buffer> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const { isDeflated = false, name, pieces } of files) {
    const plain = pieces();
    const stored = isDeflated ? [deflateRawSync(Buffer.concat(plain), { level: 9 })] : plain;
    const entry = {
      name: Buffer.from(name, 'utf8'),
      method: isDeflated ? DEFLATED : 0,
      crc: plain.reduce((sum, piece) => crc32(piece, sum), 0),
      bytes: lengthOf(plain),
      storedBytes: lengthOf(stored),
    };
    if (at + entry.storedBytes > MAX_BYTES) throw new RangeError('a zip file holds no more than 4 GB');
    const facts = factsOf(entry);
    // No comment, first disk, no attributes.
    const end = packed([2, 0], [2, 0], [2, 0], [4, 0], [4, at]);
    directory.push(Buffer.concat([packed([4, 0x0201_4b50], [2, VERSION]), facts, end, entry.name]));
    const header = Buffer.concat([packed([4, 0x0403_4b50]), facts, entry.name]);
    at += header.length + entry.storedBytes;
    yield header;
    yield* stored;
  }
  yield* directory;
  const entries = directory.length;
  yield packed([4, 0x0605_4b50], [2, 0], [2, 0], [2, entries], [2, entries], [4, lengthOf(directory)], [4, at], [2, 0]);
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Numbers in little-endian order, each in two or four bytes. */
function packed(...fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of fields) at = buffer.writeUIntLE(value, at, bytes);
  return buffer;
}

/**
 * The fields that both headers of a file contain: flags, method, time, date, checksum, sizes, and lengths of its name
 * and of extra fields.
 */
function factsOf({ bytes, crc, method, name, storedBytes }: Entry): Buffer {
  const flags = packed([2, VERSION], [2, UTF8_NAMES], [2, method], [2, 0], [2, DOS_DATE]);
  return Buffer.concat([flags, packed([4, crc], [4, storedBytes], [4, bytes], [2, name.length], [2, 0])]);
}
