import { expect, test } from 'vitest';

import { zipped } from '../../src/files/zip.ts';
import { unzipped } from '../support/zip.ts';

const FILES = [
  { name: 'a.txt', pieces: () => [Buffer.from('a'.repeat(1000)), Buffer.from('b')], isDeflated: true },
  { name: 'empty', pieces: () => [], isDeflated: true },
  { name: 'ü/b', pieces: () => [Buffer.from([0, 1, 2])] },
];

test('stored and deflated files come back, and equal files give equal bytes', () => {
  const zip = Buffer.concat([...zipped(FILES)]);
  expect(unzipped(zip)).toEqual(
    new Map([
      ['a.txt', Buffer.from(`${'a'.repeat(1000)}b`)],
      ['empty', Buffer.alloc(0)],
      ['ü/b', Buffer.from([0, 1, 2])],
    ]),
  );
  expect(zip.length).toBeLessThan(400);
  expect(Buffer.concat([...zipped(FILES)])).toEqual(zip);
});

/** By Python: zlib.crc32(b'a' * 1000 + b'b') */
test('checksums are those of the files as they were', () => {
  expect(Buffer.concat([...zipped(FILES)]).readUInt32LE(14)).toBe(3_895_297_689);
});
