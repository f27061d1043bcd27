import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import { StringDecoder } from 'node:string_decoder';
import { Writable } from 'node:stream';

export interface TextReading {
  readonly bytes: number;
  /** False when the file is damaged: what is before the damage was read. */
  readonly whole: boolean;
}

/**
 * Hands over each line of a file, decompressed by its ending, numbered from 1; a last line without a line feed counts.
 * @param maxBytes of the decompressed text: of a damaged archive, readers may reach differently far
 */
export async function readLines(
  path: string,
  onLine: (text: string, line: number) => void,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<TextReading> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let line = 0;
  let bytes = 0;
  const take = (text: string): void => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) onLine(part, (line += 1));
  };
  const sink = new Writable({
    write(chunk: Buffer, _, done) {
      const part = chunk.subarray(0, Math.max(0, maxBytes - bytes));
      bytes += part.length;
      take(decoder.write(part));
      done();
    },
  });
  const whole = await flow(path, sink);
  take(decoder.end());
  if (rest !== '') onLine(rest, line + 1);
  return { bytes, whole };
}

async function flow(path: string, sink: Writable): Promise<boolean> {
  const file = createReadStream(path);
  try {
    if (path.endsWith('.gz')) await pipeline(file, createGunzip(), sink);
    else if (path.endsWith('.zst')) await pipeline(file, createZstdDecompress(), sink);
    else if (path.endsWith('.br')) await pipeline(file, createBrotliDecompress(), sink);
    else await pipeline(file, sink);
    return true;
  } catch {
    return false;
  }
}

/** The whole text of a small file; null when it cannot be read to its end. */
export async function readText(path: string): Promise<string | null> {
  const lines: string[] = [];
  const { whole } = await readLines(path, (text) => lines.push(text));
  return whole ? lines.join('\n') : null;
}
