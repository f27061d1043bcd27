import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';

export const KEPT = join(import.meta.dirname, 'kept');

const IS_UPDATE = process.env['UPDATE_PINS'] === '1';

/** Longer texts are kept under brotli. */
const LONG = 12_000;

/** The text that was kept under this name; with UPDATE_PINS=1 it is kept first. Nothing else writes there. */
export function kept(name: string, text: string): string {
  const path = join(KEPT, name);
  const packed = `${path}.br`;
  if (IS_UPDATE) {
    mkdirSync(dirname(path), { recursive: true });
    if (text.length > LONG) writeFileSync(packed, brotliCompressSync(text));
    else writeFileSync(path, text);
  }
  if (existsSync(packed)) return brotliDecompressSync(readFileSync(packed)).toString('utf8');
  return existsSync(path) ? readFileSync(path, 'utf8') : `nothing is kept as ${name}`;
}

/** A store with what lay around it, as bench left it, in this folder. */
export function unpack(name: string, folder: string): void {
  const input = brotliDecompressSync(readFileSync(join(KEPT, `${name}.tar.br`)));
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input });
}
