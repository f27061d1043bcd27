import { expect, test } from 'vitest';

import { decodeSamples, encodeSamples } from '../../../src/store/runs/blob-codecs.ts';

const QUERIES = (1 << 17) + 3;
const startEnqMs = Float64Array.from({ length: QUERIES }, (_, query) => Number((200 + query / 7).toPrecision(6)));
const computeMs = startEnqMs.map((_, query) => Number((0.4 + (query % 97) / 1e4).toPrecision(6)));
const written = { count: QUERIES, columns: { startEnqMs, computeMs } };

test('in a store it is the same number by number, and nothing else is taken for it', () => {
  const blob = encodeSamples(written);
  expect(blob.length).toBeLessThan(3 * QUERIES);
  expect(decodeSamples(blob)).toEqual(written);
  expect(() => decodeSamples(blob.subarray(0, -1))).toThrow('the samples end too soon');
  // Before anything is made room for.
  for (const count of [QUERIES + 1, 0xffff_ffff]) {
    const other = Buffer.from(blob);
    other.writeUInt32LE(count, 1);
    expect(() => decodeSamples(other)).toThrow('the number of samples differs from the stated number');
  }
  expect(decodeSamples(encodeSamples({ count: 0, columns: {} }))).toEqual({ count: 0, columns: {} });
});
