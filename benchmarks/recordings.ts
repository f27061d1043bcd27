import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { ROOT } from './processes.ts';

/** A recorded file of trtexec on an H200, below the clone's root, decompressed. */
export function readRecorded(...path: readonly string[]): Buffer {
  return brotliDecompressSync(readFileSync(join(ROOT, ...path)));
}

/** Lays a recorded run out as trtexec left it, with nothing compressed. */
export function unpackRun(target: string, ...path: readonly string[]): void {
  const source = join(ROOT, ...path);
  mkdirSync(target, { recursive: true });
  for (const name of readdirSync(source)) {
    const bytes = readFileSync(join(source, name));
    const isPacked = name.endsWith('.br');
    writeFileSync(join(target, name.replace(/\.br$/, '')), isPacked ? brotliDecompressSync(bytes) : bytes);
  }
}
