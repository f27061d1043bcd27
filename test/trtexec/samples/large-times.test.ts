import { expect, test } from 'vitest';

import { decodeSamples, encodeSamples } from '../../../src/store/runs/blob-codecs.ts';
import { timesOfRun } from '../../../src/trtexec/exports/times.ts';
import type { QueryTimes } from '../../../src/trtexec/run-facts.ts';
import { LargeTimes, PIECE_ROWS } from '../../../src/trtexec/samples/large-times.ts';
import { parseTimes } from '../../support/whole-files.ts';

const QUERIES = 2 * PIECE_ROWS + 3;
const startEnqMs = Float64Array.from({ length: QUERIES }, (_, query) => Number((200 + query / 7).toPrecision(6)));
const computeMs = Float64Array.from({ length: QUERIES }, (_, query) =>
  Number((0.4 + (query % 97) / 1e4).toPrecision(6)),
);
const written: QueryTimes = { count: QUERIES, columns: { startEnqMs, computeMs } };

function fileOf({ columns }: QueryTimes): Buffer {
  const rows = Array.from(columns.computeMs ?? [], (ms, query) => {
    return `{ "startEnqMs" : ${columns.startEnqMs?.[query]}, "computeMs" : ${ms} }`;
  });
  return Buffer.from(`[\n  ${rows.join('\n, ')}\n]\n`);
}

const read = parseTimes(fileOf(written));

test('an export of many queries is read packed, to the same numbers', () => {
  expect(read).toBeInstanceOf(LargeTimes);
  expect({ count: read.count, columns: { ...read.columns } }).toEqual(written);
});

test('in a store it is the same number by number, and nothing else is taken for it', () => {
  const blob = encodeSamples(read);
  expect(blob.length).toBeLessThan(3 * QUERIES);
  expect(decodeSamples(blob)).toEqual(written);
  expect(() => decodeSamples(blob.subarray(0, -1))).toThrow('the samples end too soon');
  const fewer = Buffer.from(blob);
  fewer.writeUInt32LE(QUERIES + 1, 1);
  expect(() => decodeSamples(fewer)).toThrow('the number of samples differs from the stated number');
  // Before anything is made room for.
  fewer.writeUInt32LE(0xffff_ffff, 1);
  expect(() => decodeSamples(fewer)).toThrow('the number of samples differs from the stated number');
});

test.each([1, PIECE_ROWS, PIECE_ROWS + 5])('%i queries of the warm-up are cut off', (warmUp) => {
  const timed = timesOfRun(read, { queries: QUERIES - warmUp, tensorrtVersion: null, measurement: null });
  const columns = { startEnqMs: startEnqMs.slice(warmUp), computeMs: computeMs.slice(warmUp) };
  expect({ count: timed.count, columns: { ...timed.columns } }).toEqual({ count: QUERIES - warmUp, columns });
});
