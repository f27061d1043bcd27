import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';

/** A protobuf string entry `key: "location"`, followed by the tag of its value. */
const LOCATION = Buffer.from([0x0a, 0x08, ...Buffer.from('location'), 0x12]);
const LONGEST_NAME = 255;

/**
 * SHA-256 over an ONNX file and the files with external data that it names. Names are found by the bytes of their
 * entry, so that a model of any size is read once and never held in memory.
 * @throws when the model cannot be read
 */
export async function hashModel(path: string): Promise<string> {
  const hash = createHash('sha256');
  const locations = new Set<string>();
  let tail = Buffer.alloc(0);
  for await (const chunk of readBytes(path)) {
    hash.update(chunk);
    const bytes = Buffer.concat([tail, chunk]);
    for (const name of locationsIn(bytes)) locations.add(name);
    tail = bytes.subarray(Math.max(0, bytes.length - LOCATION.length - LONGEST_NAME - 2));
  }
  for (const name of [...locations].toSorted()) {
    const data = join(dirname(path), name);
    if (!isBeside(path, data) || !existsSync(data)) continue;
    hash.update(`\0${name}\0`);
    for await (const chunk of readBytes(data)) hash.update(chunk);
  }
  return hash.digest('hex');
}

/** A larger file holds its weights itself, and need not be searched for the names of others. */
const SEARCHED_BYTES = 64 << 20;

/** Bytes of an ONNX file and the files with external data that it names. */
export function modelBytes(path: string): number {
  const { size } = statSync(path);
  if (size > SEARCHED_BYTES) return size;
  const beside = new Set(locationsIn(readFileSync(path)));
  return [...beside].reduce((sum, name) => {
    const data = join(dirname(path), name);
    const found = isBeside(path, data) ? statSync(data, { throwIfNoEntry: false }) : undefined;
    return sum + (found?.size ?? 0);
  }, size);
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

/** External data lie beside the model or below: ONNX allows nothing else. */
function isBeside(model: string, data: string): boolean {
  return resolve(data).startsWith(dirname(resolve(model)) + sep);
}
