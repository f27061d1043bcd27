import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { compressFolder, scrubFolder } from '../../src/artefacts/keep.ts';
import { runFilesOf, runFilesIn } from '../../src/artefacts/run-files.ts';
import { readWhole } from '../../src/files/files.ts';
import { isInside } from '../../src/files/layout.ts';
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
  });
});

test('of a folder that was read before, what was read is what counts', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'stdout.log.br'), brotliCompressSync('another one'));
  const files = runFilesOf(folder, new Map([['stdout.log.br', brotliCompressSync(LINES)]]));
  expect(files.names).toEqual(['stdout.log']);
  for (const _ of [1, 2]) expect((await files.whole('stdout.log')).equals(LINES)).toBe(true);
  expect((await (await runFilesIn(folder)).whole('stdout.log')).toString()).toBe('another one');
});

test('compresses what a run wrote; run.json stays readable, and twice changes nothing', async () => {
  const folder = temporaryFolder();
  for (const name of ['stdout.log', 'times.json', 'run.json']) writeFileSync(join(folder, name), `content of ${name}`);
  await compressFolder(folder);
  await compressFolder(folder);
  expect(readdirSync(folder).toSorted()).toEqual(['run.json', 'stdout.log.zst', 'times.json.zst']);
  expect((await readWhole(join(folder, 'times.json.zst'))).toString()).toBe('content of times.json');
});

test('values of secrets go from files in the folder of a run and below it; others stay', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'logs'));
  writeFileSync(join(folder, 'stdout.log'), 'key sk-made-up-0123456789, path /home\n');
  writeFileSync(join(folder, 'logs', 'aiperf.log'), 'Bearer sk-made-up-0123456789\n');
  await scrubFolder(folder, { OPENAI_API_KEY: 'sk-made-up-0123456789', HOME: '/home' });
  expect(readFileSync(join(folder, 'stdout.log'), 'utf8')).toBe('key ***, path /home\n');
  expect(readFileSync(join(folder, 'logs', 'aiperf.log'), 'utf8')).toBe('Bearer ***\n');
});

test('what lies in a folder, also in that of the system', () => {
  expect([isInside('/', '/m/matrix.yaml'), isInside('/m', '/m'), isInside('/m', '/mm')]).toEqual([true, true, false]);
});
