import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';

import { sha256OfFile } from './files.ts';
import { sizeOf } from './folders.ts';

/** A protobuf string entry `key: "location"`, and the tag of the value that follows. */
const LOCATION = Buffer.from([0x0a, 0x08, ...Buffer.from('location'), 0x12]);
const LONGEST_ENTRY = LOCATION.length + 2 + 255;

/**
 * SHA-256 over an ONNX file and its external data. Searches the raw bytes, so that no model is held in memory.
 * @throws when the model cannot be read
 */
export async function hashModel(path: string): Promise<string> {
  const hash = createHash('sha256');
  const locations = new Set<string>();
  let tail: Uint8Array = new Uint8Array();
  for await (const chunk of readBytes(path)) {
    hash.update(chunk);
    // An entry may begin at the end of the chunk before.
    const seam = Buffer.concat([tail, chunk.subarray(0, LONGEST_ENTRY)]);
    for (const name of [...locationsIn(seam), ...locationsIn(chunk)]) locations.add(name);
    tail = chunk.subarray(Math.max(0, chunk.length - LONGEST_ENTRY));
  }
  for (const name of [...locations].toSorted()) {
    const data = join(dirname(path), name);
    if (!isExternalDataOf(path, data) || !existsSync(data)) continue;
    hash.update(`\0${name}\0`);
    for await (const chunk of readBytes(data)) hash.update(chunk);
  }
  return hash.digest('hex');
}

/** A larger file contains its weights, so it is not searched for external data. */
const SEARCHED_BYTES = 64 << 20;

export function modelBytes(path: string): number {
  const { size } = statSync(path);
  if (size > SEARCHED_BYTES) return size;
  const locations = new Set(locationsIn(readFileSync(path)));
  const data = [...locations].map((name) => join(dirname(path), name)).filter((one) => isExternalDataOf(path, one));
  return data.reduce((sum, one) => sum + sizeOf(one), size);
}

function readBytes(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: 1 << 20 });
}

function locationsIn(bytes: Buffer): string[] {
  const names: string[] = [];
  for (let at = bytes.indexOf(LOCATION); at !== -1; at = bytes.indexOf(LOCATION, at + 1)) {
    const lengthAt = at + LOCATION.length;
    const length = bytes[lengthAt] ?? 0;
    const end = lengthAt + 1 + length;
    if (length > 0 && length < 0x80 && end <= bytes.length) {
      names.push(bytes.toString('utf8', lengthAt + 1, end));
    }
  }
  return names;
}

/** ONNX allows external data only next to the model or below it. */
function isExternalDataOf(model: string, data: string): boolean {
  return resolve(data).startsWith(dirname(resolve(model)) + sep);
}

/** Changes when the file is written or replaced. Resetting the times of the file still changes ctime. */
function stampOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ');
}

/** Caches the hashes of unchanged files, so that an engine of a gigabyte is not read for each of a hundred runs. */
export class KnownHashes {
  private readonly known = new Map<string, { readonly stamp: string; readonly sha256: string }>();

  /** Returns null if the file cannot be read, or always changes meanwhile. A build with the same bytes may replace it. */
  async sha256Of(path: string, tries = 3): Promise<string | null> {
    const stamp = stampOf(path);
    if (stamp === null) return null;
    const known = this.known.get(path);
    if (known?.stamp === stamp) return known.sha256;
    const hashed = await sha256OfFile(path).catch(() => null);
    if (hashed === null || stampOf(path) !== stamp) return tries > 1 ? this.sha256Of(path, tries - 1) : null;
    this.known.set(path, { stamp, sha256: hashed.sha256 });
    return hashed.sha256;
  }
}
