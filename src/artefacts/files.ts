import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';

import { temporaryPath } from './layout.ts';

const STREAM_BYTES = 1 << 16;
const READ_BYTES = 1 << 18;
const COMPRESSED = /\.(gz|zst|br)$/;

/** `stdout.log` for `stdout.log.gz`. */
export function plainName(name: string): string {
  return name.replace(COMPRESSED, '');
}

/**
 * The bytes of a file, decompressed by its ending. A chunk is good only until the next one is asked for.
 * @throws when the file cannot be read or its compressed data are damaged
 */
export async function* readChunks(path: string): AsyncGenerator<Buffer> {
  const decompress = decompressor(path);
  if (decompress === null) {
    yield* readPlain(path);
    return;
  }
  const file = createReadStream(path, { highWaterMark: STREAM_BYTES });
  file.on('error', (error) => decompress.destroy(error));
  yield* file.pipe(decompress);
}

/**
 * Fills one of two buffers while the other is worked on. A stream would take a fresh one for each chunk: for a large
 * log that is gigabytes of memory touched once, which takes longer than to parse it.
 */
async function* readPlain(path: string): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    // A pipe states no size.
    const bytes = size === 0 ? READ_BYTES : Math.min(size, READ_BYTES);
    let [filling, filled] = [Buffer.allocUnsafe(bytes), Buffer.allocUnsafe(bytes)];
    let reading = file.read(filling);
    for (;;) {
      const { bytesRead } = await reading;
      if (bytesRead === 0) return;
      [filling, filled] = [filled, filling];
      reading = file.read(filling);
      // What goes wrong is told when the chunk is asked for; nobody may ask.
      reading.catch(() => {});
      yield filled.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

function decompressor(path: string) {
  switch (COMPRESSED.exec(path)?.[1]) {
    case 'gz':
      return createGunzip({ chunkSize: STREAM_BYTES });
    case 'zst':
      return createZstdDecompress({ chunkSize: STREAM_BYTES });
    case 'br':
      return createBrotliDecompress({ chunkSize: STREAM_BYTES });
    default:
      return null;
  }
}

export async function readWhole(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readChunks(path)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

export async function sha256OfFile(path: string): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of readChunks(path)) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}

/** For small files of which the hash is part of an identity. */
export function sha256OfFileSync(path: string): { sha256: string; bytes: number } {
  const bytes = readFileSync(path);
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
}

/** Writes beside the target and renames: a reader sees the old file or the whole new one, also after a crash. */
export async function writeAtomically(path: string, data: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = temporaryPath(path);
  const file = await open(temporary, 'w');
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
