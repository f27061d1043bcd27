import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

import { writeNpyHeader } from './npy.ts';

/** An array to write; its values are generated when needed. */
export interface ArrayToWrite {
  readonly name: string;
  readonly descr: string;
  readonly shape: readonly number[];
  /** Little-endian, in C order. */
  readonly values: () => Buffer;
}

/** 1 January 1980, the earliest date in a zip file: equal arrays give equal bytes on any day. */
const DOS_DATE = 0x21;
const VERSION = 20;
const UTF8_NAMES = 0x800;
const MAX_BYTES = 0xffff_fffe;

interface Entry {
  readonly name: Buffer;
  readonly crc: number;
  readonly bytes: number;
  readonly at: number;
}

/** @throws RangeError above 4 GB; writes a zip file as `numpy.savez` does, without compression */
export async function writeNpz(path: string, arrays: readonly ArrayToWrite[]): Promise<void> {
  const file = await open(path, 'w');
  try {
    const entries: Entry[] = [];
    let at = 0;
    for (const array of arrays) {
      const entry = await writeEntry(file, array, at);
      entries.push(entry);
      at += localHeader(entry).length + entry.bytes;
    }
    const directory = Buffer.concat(entries.map(centralHeader));
    await file.write(directory);
    await file.write(endOfDirectory(entries.length, directory.length, at));
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeEntry(file: FileHandle, array: ArrayToWrite, at: number): Promise<Entry> {
  const header = writeNpyHeader(array.descr, array.shape);
  const values = array.values();
  const entry = {
    name: Buffer.from(`${array.name}.npy`, 'utf8'),
    crc: crc32(values, crc32(header)),
    bytes: header.length + values.length,
    at,
  };
  if (at + entry.bytes > MAX_BYTES) throw new RangeError('more than 4 GB of calibration data');
  await file.write(localHeader(entry));
  await file.write(header);
  await writeAll(file, values);
  return entry;
}

/** One call writes at most about 2 GB. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, Math.min(bytes.length - done, 1 << 30))).bytesWritten;
  }
}

/** Numbers in little-endian order, each in two or four bytes. */
function packed(...fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of fields) at = buffer.writeUIntLE(value, at, bytes);
  return buffer;
}

/** What both headers of a file say: flags, method, time, date, checksum, sizes, lengths of its name and of extra fields. */
function factsOf({ name, crc, bytes }: Entry): Buffer {
  const flags = packed([2, VERSION], [2, UTF8_NAMES], [2, 0], [2, 0], [2, DOS_DATE]);
  return Buffer.concat([flags, packed([4, crc], [4, bytes], [4, bytes], [2, name.length], [2, 0])]);
}

function localHeader(entry: Entry): Buffer {
  return Buffer.concat([packed([4, 0x0403_4b50]), factsOf(entry), entry.name]);
}

function centralHeader(entry: Entry): Buffer {
  const start = packed([4, 0x0201_4b50], [2, VERSION]);
  // No comment, the first disk, no attributes.
  const end = packed([2, 0], [2, 0], [2, 0], [4, 0], [4, entry.at]);
  return Buffer.concat([start, factsOf(entry), end, entry.name]);
}

function endOfDirectory(entries: number, bytes: number, at: number): Buffer {
  return packed([4, 0x0605_4b50], [2, 0], [2, 0], [2, entries], [2, entries], [4, bytes], [4, at], [2, 0]);
}
