import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import type { QueryTimes } from '../../../src/trtexec/run-facts.ts';
import { decodeSamples, encodeSamples } from '../../../src/store/runs/blob-codecs.ts';
import { readFixture } from '../../support/recordings.ts';
import { parseTimes } from '../../support/whole-files.ts';

test('a recorded run comes back exactly, at under ten bytes a query', () => {
  const times = parseTimes(readFixture('formats/enqueue-bound/times.json.br'));
  const blob = encodeSamples(times);
  expect(decodeSamples(blob)).toEqual(times);
  expect(blob.length / times.count).toBeLessThan(10);
});

test('numbers that are no short decimals come back exactly too', () => {
  const times: QueryTimes = {
    count: 6,
    columns: { computeMs: Float64Array.from([Math.PI, 1 / 3, -0, 1e300, 5e-324, Number.NaN]) },
  };
  const back = decodeSamples(encodeSamples(times)).columns.computeMs;
  expect([...(back ?? [])].map((value) => Object.is(value, -0))).toEqual([false, false, true, false, false, false]);
  expect(back).toEqual(times.columns.computeMs);
});

test('a run without queries', () => {
  const times: QueryTimes = { count: 0, columns: { computeMs: new Float64Array(0) } };
  expect(decodeSamples(encodeSamples(times))).toEqual(times);
});

test('any doubles come back bit by bit', () => {
  fc.assert(
    fc.property(fc.array(fc.double()), fc.array(fc.integer({ min: 0, max: 1e9 })), (a, b) => {
      const count = Math.min(a.length, b.length);
      const times: QueryTimes = {
        count,
        columns: {
          computeMs: Float64Array.from(a.slice(0, count)),
          startComputeMs: Float64Array.from(b.slice(0, count), (value) => value / 1000),
        },
      };
      expect(decodeSamples(encodeSamples(times))).toEqual(times);
    }),
  );
});

test('a blob of something else is refused', () => {
  expect(() => decodeSamples(Buffer.from('not zstd'))).toThrow('Unknown frame descriptor');
});
