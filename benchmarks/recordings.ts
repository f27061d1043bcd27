import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
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

const VERBOSE = join('test', 'fixtures', 'trtexec', 'formats', 'build-and-run-verbose');
const SEVERITY_AT = '[MM/DD/YYYY-HH:MM:SS] ['.length;

/**
 * Writes a verbose trtexec log of about so many bytes: the recorded build and run of a small model, in which all that
 * the builder says with `--verbose` (parsing, fusions, tactics, layers) stands as often as it takes. A large model
 * says the same about more layers. Banner, device block, trace and summary stand once, as they do in any log.
 */
export function writeVerboseLog(path: string, bytes: number): void {
  const lines = readRecorded(VERBOSE, 'stdout.log.br').toString('utf8').split('\n');
  const first = lines.findIndex((line) => line[SEVERITY_AT] === 'V');
  const inference = lines.findIndex((line) => line.includes('] Starting inference'));
  const head = Buffer.from(`${lines.slice(0, inference).join('\n')}\n`);
  const tail = Buffer.from(lines.slice(inference).join('\n'));
  const said = lines.slice(first, inference).filter((line) => line[SEVERITY_AT] !== 'I');
  const once = `${said.join('\n')}\n`;
  const block = Buffer.from(once.repeat(Math.ceil((1 << 20) / once.length)));
  const file = openSync(path, 'w');
  try {
    let written = writeSync(file, head);
    while (written + tail.length < bytes) written += writeSync(file, block);
    writeSync(file, tail);
  } finally {
    closeSync(file);
  }
}
