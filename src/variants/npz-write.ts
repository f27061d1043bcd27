import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

import { writeNpyHeader } from './npy.ts';

/** An array that is about to be written; its values are made when their turn comes. */
export interface ArrayToWrite {
  readonly name: string;
  readonly descr: string;
  readonly shape: readonly number[];
  /** Little-endian, in C order. */
  readonly values: () => Buffer;
}

/** 1 January 1980, the first day that a zip file can name: the same arrays give the same bytes on any day. */
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

/**
 * Writes arrays as `numpy.savez` does: a zip file of npy files, stored without compression.
 * @throws RangeError when it would need the zip format for more than 4 GB
 */
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

function localHeader({ name, crc, bytes }: Entry): Buffer {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x0403_4b50, 0);
  head.writeUInt16LE(VERSION, 4);
  head.writeUInt16LE(UTF8_NAMES, 6);
  head.writeUInt16LE(DOS_DATE, 12);
  head.writeUInt32LE(crc, 14);
  head.writeUInt32LE(bytes, 18);
  head.writeUInt32LE(bytes, 22);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, name]);
}

function centralHeader({ name, crc, bytes, at }: Entry): Buffer {
  const head = Buffer.alloc(46);
  head.writeUInt32LE(0x0201_4b50, 0);
  head.writeUInt16LE(VERSION, 4);
  head.writeUInt16LE(VERSION, 6);
  head.writeUInt16LE(UTF8_NAMES, 8);
  head.writeUInt16LE(DOS_DATE, 14);
  head.writeUInt32LE(crc, 16);
  head.writeUInt32LE(bytes, 20);
  head.writeUInt32LE(bytes, 24);
  head.writeUInt16LE(name.length, 28);
  head.writeUInt32LE(at, 42);
  return Buffer.concat([head, name]);
}

function endOfDirectory(entries: number, bytes: number, at: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x0605_4b50, 0);
  end.writeUInt16LE(entries, 8);
  end.writeUInt16LE(entries, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(at, 16);
  return end;
}
