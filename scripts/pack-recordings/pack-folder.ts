import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gunzipSync, zstdDecompressSync } from 'node:zlib';

import { parseRunManifest } from '../../src/artefacts/run-manifest.ts';
import { type Recording, meaningOf } from '../../src/trtexec/replay/recording-set.ts';

export const ROOT = join(import.meta.dirname, '..', '..');

const EXPORT_FILES = ['times.json', 'profile.json', 'layers.json'];

function compress(bytes: Buffer): Buffer {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** Bytes of a kept file, decompressed by its ending. */
function plainBytes(path: string): Buffer {
  const bytes = readFileSync(path);
  if (path.endsWith('.gz')) return gunzipSync(bytes);
  return path.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes;
}

/** @param change of the bytes of every file, by its name; null leaves a file out */
export function packFolder(
  from: string,
  to: string,
  change: (name: string, bytes: Buffer) => Buffer | null = (_, bytes) => bytes,
): void {
  mkdirSync(to, { recursive: true });
  for (const file of readdirSync(from)) {
    const name = file.replace(/\.(?:gz|zst)$/, '');
    const bytes = change(name, plainBytes(join(from, file)));
    if (bytes === null || bytes.length === 0) continue;
    if (name === 'run.json') writeFileSync(join(to, name), bytes);
    else writeFileSync(join(to, `${name}.br`), compress(bytes));
  }
}

/** What the manifest of a set says of a packed run. */
export function recordingOf(folder: string, build: string, packed: string): Recording {
  const reading = parseRunManifest(readFileSync(join(packed, 'run.json'), 'utf8'));
  if (reading.kind === 'faulty') throw new Error(`${packed}: ${reading.problem}`);
  const args = reading.manifest.argv?.slice(1) ?? [];
  const meaning = meaningOf(args);
  if (meaning === null) throw new Error(`${packed}: neither builds nor loads`);
  const kept = readdirSync(packed);
  const omitted = EXPORT_FILES.filter(
    (name) =>
      args.some((arg) => arg.startsWith('--export') && arg.split(/[=/]/).at(-1) === name) &&
      !kept.includes(`${name}.br`),
  );
  return { folder, build, meaning, omitted };
}
