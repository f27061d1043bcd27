import { crc32, deflateRawSync } from 'node:zlib';

interface FileToZip {
  readonly name: string;
  readonly content: Buffer;
}

/** 1 January 1980, the earliest date in a zip file. A constant date makes equal files give equal bytes. */
const DOS_DATE = 0x21;
const VERSION = 20;
const UTF8_NAMES = 0x800;
const DEFLATED = 8;

/** A zip file in pieces. */
export function* zipped(files: Iterable<FileToZip>): Generator<Buffer> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const file of files) {
    const [name, stored] = [Buffer.from(file.name, 'utf8'), deflateRawSync(file.content, { level: 9 })];
    // What both headers of a file contain: flags, method, time, date, checksum, sizes, lengths of name and extra fields.
    const facts = Buffer.concat([
      packed([2, VERSION], [2, UTF8_NAMES], [2, DEFLATED], [2, 0], [2, DOS_DATE], [4, crc32(file.content)]),
      packed([4, stored.length], [4, file.content.length], [2, name.length], [2, 0]),
    ]);
    // No comment, first disk, no attributes.
    const end = packed([2, 0], [2, 0], [2, 0], [4, 0], [4, at]);
    directory.push(Buffer.concat([packed([4, 0x0201_4b50], [2, VERSION]), facts, end, name]));
    const header = Buffer.concat([packed([4, 0x0403_4b50]), facts, name]);
    at += header.length + stored.length;
    yield header;
    yield stored;
  }
  yield* directory;
  const entries = directory.length;
  const bytes = directory.reduce((sum, { length }) => sum + length, 0);
  yield packed([4, 0x0605_4b50], [2, 0], [2, 0], [2, entries], [2, entries], [4, bytes], [4, at], [2, 0]);
}

/** Numbers in little-endian order, each in two or four bytes. */
function packed(...fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of fields) at = buffer.writeUIntLE(value, at, bytes);
  return buffer;
}
