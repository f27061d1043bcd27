import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createInflateRaw } from 'node:zlib';

import { FiniteCheck, headerBytes, itemBytes, readNpyHeader } from './npy.ts';

export interface ArrayFacts {
  /** Empty for the only array of an npy file. */
  readonly name: string;
  readonly descr: string;
  readonly shape: readonly number[];
  readonly notFinite: number;
}

/** The file is not in the format of its name; the message omits the name. */
export class NumpyFormatError extends Error {
  override readonly name = 'NumpyFormatError';
}

/** @throws NumpyFormatError if it is neither npz nor npy; values are checked in chunks, and not kept */
export async function readArrays(path: string): Promise<ArrayFacts[]> {
  if (path.endsWith('.npy')) return [await readArray('', createReadStream(path))];
  const file = await open(path);
  try {
    const arrays: ArrayFacts[] = [];
    for (const entry of await zipEntries(file)) {
      if (!entry.name.endsWith('.npy')) throw new NumpyFormatError(`${entry.name} is no array`);
      arrays.push(await readArray(entry.name.slice(0, -4), await entryBytes(path, file, entry)));
    }
    return arrays;
  } finally {
    await file.close();
  }
}

async function readArray(name: string, bytes: AsyncIterable<Buffer>): Promise<ArrayFacts> {
  const shown = name === '' ? 'the file' : name;
  let start = Buffer.alloc(0);
  let check: FiniteCheck | null = null;
  let facts: Omit<ArrayFacts, 'notFinite'> | null = null;
  let seen = 0;
  let wanted = 0;
  for await (const chunk of bytes) {
    seen += chunk.length;
    if (check !== null) {
      check.push(chunk);
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < 12) continue;
    const needed = headerBytes(start);
    if (needed === null) throw new NumpyFormatError(`${shown} is no array of numpy`);
    if (start.length < needed) continue;
    const header = readNpyHeader(start);
    if (header === null) throw new NumpyFormatError(`${shown} is no array of plain numbers`);
    facts = { name, descr: header.descr, shape: header.shape };
    wanted = header.dataAt + itemBytes(header.descr) * product(header.shape);
    check = new FiniteCheck(header.descr);
    check.push(start.subarray(header.dataAt));
  }
  if (facts === null || check === null) {
    throw new NumpyFormatError(`${shown} is no array of numpy, or it is cut short`);
  }
  if (seen < wanted) throw new NumpyFormatError(`${shown} is cut short`);
  return { ...facts, notFinite: check.notFinite };
}

function product(shape: readonly number[]): number {
  return shape.reduce((all, size) => all * size, 1);
}

interface ZipEntry {
  readonly name: string;
  readonly isDeflated: boolean;
  readonly storedBytes: number;
  readonly headerAt: number;
}

const END_BYTES = 22;
const LONGEST_COMMENT = 0xffff;
const IN_ZIP64 = 0xffff_ffff;
/** No file of calibration data has a larger directory. */
const LARGEST_DIRECTORY = 1 << 24;

async function zipEntries(file: FileHandle): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  const tailAt = Math.max(0, size - END_BYTES - LONGEST_COMMENT);
  const tail = await readAt(file, tailAt, size - tailAt);
  const endAt = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (endAt === -1 || endAt + END_BYTES > tail.length) {
    throw new NumpyFormatError('it is no npz file (numpy.savez writes them), or it is cut short');
  }
  const directory = await directoryPlace(file, tail, endAt, tailAt);
  if (directory.bytes > LARGEST_DIRECTORY || directory.at + directory.bytes > size) {
    throw new NumpyFormatError('its directory is damaged');
  }
  return readDirectory(await readAt(file, directory.at, directory.bytes));
}

/** Files over 4 GB have a separate record, which a locator before the end points to. */
async function directoryPlace(file: FileHandle, tail: Buffer, endAt: number, tailAt: number) {
  const bytes = tail.readUInt32LE(endAt + 12);
  const at = tail.readUInt32LE(endAt + 16);
  if (at !== IN_ZIP64 && bytes !== IN_ZIP64) return { at, bytes };
  const locatorAt = endAt - 20;
  if (locatorAt < 0 || tail.readUInt32LE(locatorAt) !== 0x0706_4b50) {
    throw new NumpyFormatError('its directory is damaged');
  }
  const recordAt = Number(tail.readBigUInt64LE(locatorAt + 8));
  if (recordAt >= tailAt + endAt) throw new NumpyFormatError('its directory is damaged');
  const record = await readAt(file, recordAt, 56);
  return { bytes: Number(record.readBigUInt64LE(40)), at: Number(record.readBigUInt64LE(48)) };
}

function readDirectory(bytes: Buffer): ZipEntry[] {
  const entries: ZipEntry[] = [];
  for (let at = 0; at + 46 <= bytes.length;) {
    if (bytes.readUInt32LE(at) !== 0x0201_4b50) {
      throw new NumpyFormatError('its directory is damaged');
    }
    const method = bytes.readUInt16LE(at + 10);
    const nameBytes = bytes.readUInt16LE(at + 28);
    const extraBytes = bytes.readUInt16LE(at + 30);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameBytes);
    if (method !== 0 && method !== 8) {
      throw new NumpyFormatError(`${name} is compressed in a way that numpy does not write`);
    }
    const extra = bytes.subarray(at + 46 + nameBytes, at + 46 + nameBytes + extraBytes);
    const sizes = [bytes.readUInt32LE(at + 24), bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 42)];
    const [, storedBytes = 0, headerAt = 0] = withZip64(sizes, extra);
    entries.push({ name, isDeflated: method === 8, storedBytes, headerAt });
    at += 46 + nameBytes + extraBytes + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

/** Sizes that exceed 32 bits are in an extra field, in the order of the missing ones. */
function withZip64(sizes: readonly number[], extra: Buffer): number[] {
  let at = 0;
  while (at + 4 <= extra.length && extra.readUInt16LE(at) !== 1) at += 4 + extra.readUInt16LE(at + 2);
  let next = at + 4;
  return sizes.map((size) => {
    if (size !== IN_ZIP64 || next + 8 > extra.length) return size;
    next += 8;
    return Number(extra.readBigUInt64LE(next - 8));
  });
}

async function entryBytes(
  path: string,
  file: FileHandle,
  { headerAt, isDeflated, name, storedBytes }: ZipEntry,
): Promise<AsyncIterable<Buffer>> {
  const header = await readAt(file, headerAt, 30);
  if (header.length < 30 || header.readUInt32LE(0) !== 0x0403_4b50) {
    throw new NumpyFormatError(`${name} is not where its directory says`);
  }
  const start = headerAt + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (storedBytes === 0) throw new NumpyFormatError(`${name} is empty`);
  const stored = createReadStream(path, { start, end: start + storedBytes - 1 });
  return isDeflated ? inflated(stored, name) : stored;
}

async function* inflated(stored: ReturnType<typeof createReadStream>, name: string): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw();
  stored.on('error', (error) => inflate.destroy(error));
  try {
    yield* stored.pipe(inflate);
  } catch (error) {
    throw new NumpyFormatError(`${name} is damaged`, { cause: error });
  }
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, at);
  return buffer.subarray(0, bytesRead);
}
