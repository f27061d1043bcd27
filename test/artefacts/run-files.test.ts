import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { readWhole } from '../../src/files/files.ts';
import { RunFiles } from '../../src/artefacts/run-files.ts';
import { temporaryFolder } from '../support/bench.ts';

const FORMATS = [
  ['gz', gzipSync],
  ['zst', zstdCompressSync],
  ['br', brotliCompressSync],
] as const;
const LINES = Buffer.from('[I] GPU Compute Time\n'.repeat(3000));

describe.for(FORMATS)('a file that ends in .%s', ([format, pack]) => {
  const newPath = () => join(temporaryFolder(), `stdout.log.${format}`);

  test('is read whole, small or large', async () => {
    const path = newPath();
    // The second one becomes more than what is held in memory at once.
    for (const content of [LINES, Buffer.alloc(3 << 20, LINES)]) {
      writeFileSync(path, pack(content));
      expect((await readWhole(path)).equals(content)).toBe(true);
    }
  });

  test('and is cut is an error, not less of it', async () => {
    const path = newPath();
    const packed = pack(LINES);
    writeFileSync(path, packed.subarray(0, packed.length - 6));
    await expect(readWhole(path)).rejects.toThrow('unexpected end of file');
    writeFileSync(path, '');
    await expect(readWhole(path)).rejects.toThrow('unexpected end of file');
  });
});

test('of a folder that was read before, what was read is what counts', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'stdout.log.br'), brotliCompressSync('another one'));
  const files = RunFiles.read(folder, new Map([['stdout.log.br', brotliCompressSync(LINES)]]));
  expect(files.names).toEqual(['stdout.log']);
  for (const _ of [1, 2]) expect((await files.whole('stdout.log')).equals(LINES)).toBe(true);
  const there = await RunFiles.of(folder);
  expect((await there.whole('stdout.log')).toString()).toBe('another one');
});
