import { createHash } from 'node:crypto';
import { closeSync, constants, createReadStream, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { Readable, pipeline } from 'node:stream';
import { createBrotliDecompress } from 'node:zlib';

import { errorText, TooLargeError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { temporaryPath } from './layout.ts';
import { recoded } from './recode.ts';

const READ_BYTES = 1 << 18;
const TAIL_BYTES = 1 << 14;
/** Upper limit for an unpacked file; anything larger is a decompression bomb. */
const MAX_UNPACKED_BYTES = 4 * 2 ** 30;
const MAX_DOCUMENT_BYTES = 256 << 20;
const MAX_VALUES = 16_000_000;

/** Returns `stdout.log` for `stdout.log.gz`. */
export function plainName(name: string): string {
  return name.replace(/\.(?:gz|zst|br|xz|bz2)$/, '');
}

/**
 * The content of a file, decompressed, as UTF-8.
 * @param packed stored bytes, if already read
 * @param signal checked between chunks
 * @throws TooLargeError when an archive or a device yields more than any real file
 * @throws when the file cannot be read or its compressed data are damaged
 */
export async function* readChunks(
  path: string,
  packed: Buffer | null = null,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of recoded(storedChunks(path, packed), printable(path))) {
    signal?.throwIfAborted();
    bytes += chunk.length;
    if (bytes > MAX_UNPACKED_BYTES && !(await isPlainFile(path, bytes))) {
      throw tooLarge(path, `holds more than ${mib(MAX_UNPACKED_BYTES)}`);
    }
    yield chunk;
  }
}

async function isPlainFile(path: string, bytes: number): Promise<boolean> {
  const info = await stat(path);
  return info.isFile() && info.size >= bytes;
}

/** The first stored bytes of a file; empty if it cannot be read. Does not wait for a pipe. */
export function headOfFile(path: string, bytes: number): Buffer {
  return partOfFile(path, bytes, () => null);
}

/** @param placeIn where the part begins in a file of this size; null for the start of anything */
function partOfFile(path: string, bytes: number, placeIn: (size: number) => number | null): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return buffer.subarray(0, readSync(file, buffer, 0, bytes, placeIn(fstatSync(file).size)));
    } finally {
      closeSync(file);
    }
  } catch {
    return buffer.subarray(0, 0);
  }
}

/** The last `most` bytes of a file as text; empty if it cannot be read. */
export function tailOfFile(path: string, most: number): string {
  return partOfFile(path, most, (size) => Math.max(0, size - most)).toString('utf8');
}

/** The last lines of a file that are not empty; none if it cannot be read. */
export function lastLinesOf(path: string, most: number): string[] {
  const lines = tailOfFile(path, TAIL_BYTES).split('\n');
  return lines
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-most);
}

function tooLarge(path: string, what: string): TooLargeError {
  return new TooLargeError(`${printable(path)}: ${what}, and no file of a run does: not read`);
}

function mib(bytes: number): string {
  return `${Math.floor(bytes / (1 << 20))} MiB`;
}

/** Stored bytes. Brotli has no mark by which `recoded` would know it. */
function storedChunks(path: string, packed: Buffer | null): Readable {
  const stored = packed === null ? createReadStream(path, { highWaterMark: READ_BYTES }) : Readable.from([packed]);
  if (extname(path) !== '.br') return stored;
  return pipeline(stored, createBrotliDecompress({ chunkSize: READ_BYTES }), () => {
    // The reader throws the error.
  });
}

/** @throws TooLargeError as `wholeOf` does */
export async function readWhole(path: string): Promise<Buffer> {
  return wholeOf(readChunks(path), path);
}

/**
 * @param path named in the error message
 * @throws TooLargeError when no amount of memory suffices to parse it
 */
export async function wholeOf(chunks: AsyncIterable<Buffer>, path: string): Promise<Buffer> {
  const copies: Buffer[] = [];
  let [bytes, counted, values] = [0, 0, 0];
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_DOCUMENT_BYTES) throw tooLarge(path, `holds more than ${mib(MAX_DOCUMENT_BYTES)}`);
    copies.push(chunk);
    // So few bytes cannot hold too many values.
    if (bytes <= MAX_VALUES) continue;
    for (const copy of copies.slice(counted)) values += valuesIn(copy);
    counted = copies.length;
    if (values > MAX_VALUES) throw tooLarge(path, `holds more than ${MAX_VALUES} values`);
  }
  const [only] = copies;
  return copies.length === 1 && only !== undefined ? only : Buffer.concat(copies);
}

/** 1 for a byte with which a value of JSON may begin. */
const BEGINS = Uint8Array.from({ length: 256 }, (_, byte) => (',[{'.includes(String.fromCharCode(byte)) ? 1 : 0));

/** Returns an upper bound for the number of values that a JSON parser creates. */
function valuesIn(chunk: Buffer): number {
  let count = 0;
  for (let at = 0; at < chunk.length; at += 1) count += BEGINS[chunk[at] ?? 0] ?? 0;
  return count;
}

export interface Digest {
  readonly sha256: string;
  readonly bytes: number;
}

/** @throws what the chunks throw */
export async function digestOf(chunks: AsyncIterable<Buffer>): Promise<Digest> {
  const { error, sha256, bytes } = await feed(chunks);
  if (error !== null) throw error;
  return { sha256, bytes };
}

interface Fed extends Digest {
  readonly error: unknown;
  /** Why the file could not be read to its end; null if it could. */
  readonly problem: string | null;
}

/** Hashes chunks. A file that cannot be read to its end counts as truncated, and the part that was read is used. */
export async function feed(chunks: AsyncIterable<Buffer>, take: (chunk: Buffer) => void = () => {}): Promise<Fed> {
  const hash = createHash('sha256');
  let bytes = 0;
  let error: unknown = null;
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      take(chunk);
    }
  } catch (thrown) {
    error = thrown;
  }
  const problem = error === null ? null : `can be read only up to byte ${bytes}: ${errorText(error)}`;
  return { sha256: hash.digest('hex'), bytes, error, problem };
}

/** Hashes the unpacked content of a file. */
export function sha256OfFile(path: string): Promise<Digest> {
  return digestOf(readChunks(path));
}

/** Writes a JSON file for `readJson`. */
export function writeNote(path: string, value: object): Promise<void> {
  return writeAtomically(path, `${JSON.stringify(value, null, 1)}\n`);
}

export function sha256OfFileSync(path: string): { sha256: string; bytes: number; isConstant: boolean } {
  const bytes = readFileSync(path);
  // An element of each type repeats within 8 bytes.
  const isConstant = bytes.length > 8 && bytes.subarray(8).equals(bytes.subarray(0, -8));
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length, isConstant };
}

/**
 * Writes to a temporary file and renames it. A reader sees either the old file or the whole new one, even after a
 * crash.
 */
export async function writeAtomically(path: string, data: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = temporaryPath(path);
  // The temporary name is predictable: do not write through a link placed there.
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const file = await open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o666);
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
