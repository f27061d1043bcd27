import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { QUERY_TIME_COLUMNS } from '../../../src/trtexec/run-facts.ts';
import { decodeSamples, encodeSamples } from '../../../src/store/runs/blob-codecs.ts';
import { readFixture } from '../../support/recordings.ts';
import { parseTimes } from '../../support/whole-files.ts';

const FIRST_FORMAT =
  'KLUv/WAEAF0FAJLJIyuQRekz+mfe9x0THenTR6k/KoQMvOU1be/NhFtubb10UAPXZFneWdcAVYQpj///HxUMXJ6EAEEUoHgTkbyBGLyhTH6m8jOWM4SDirEGqJl8bh0tcrNHH3NQcyqus9dSbpEnOzdJ9DE4NZbWWYrgrg0oDz1Z013LkMWlFmtphPUV1nassq3zrG0Gp3RL/QcICQDjwgjCJ0G3s+IIdIfVZ7sqK6pOV6vgAQ==';

test.each([
  ['formats/enqueue-bound', 12, 4.7],
  ['gpu-contended/vit_base.fp16.b8.graph1', 12, 6],
  ['formats/streams-4', 12, 7.5],
  ['formats/no-transfers-graph-spin', 12, 4],
])('%s: %d columns come back exactly, at under %d bytes a query', (folder, columns, bytes) => {
  const times = parseTimes(readFixture(`${folder}/times.json.br`));
  const blob = encodeSamples(times);
  expect(decodeSamples(blob)).toEqual(times);
  expect(Object.keys(times.columns)).toHaveLength(columns);
  expect(blob.length / times.count).toBeLessThan(bytes);
});

test('samples of stores from before are read as they were', () => {
  expect(decodeSamples(Buffer.from(FIRST_FORMAT, 'base64'))).toEqual({
    count: 3,
    columns: {
      startComputeMs: Float64Array.from([200.186, 201.15, 202.109]),
      computeMs: Float64Array.from([0.962219, 0.95845, 0.960938]),
      latencyMs: Float64Array.from([1 / 3, 1.05464, -0]),
    },
  });
});

test('any doubles come back bit by bit, in any columns, between numbers of six digits', () => {
  const printed = fc.float({ min: 0, max: 2000, noNaN: true }).map((value) => Number(value.toPrecision(6)));
  const column = (count: number) =>
    fc.oneof(
      fc.array(printed, { minLength: count, maxLength: count }),
      fc.array(fc.oneof(fc.double(), printed), { minLength: count, maxLength: count }),
    );
  const columns = fc
    .tuple(fc.subarray([...QUERY_TIME_COLUMNS]), fc.nat({ max: 40 }))
    .chain(([names, count]) =>
      fc.record({
        count: fc.constant(count),
        columns: fc.record(
          Object.fromEntries(names.map((name) => [name, column(count).map((values) => Float64Array.from(values))])),
        ),
      }),
    );
  fc.assert(
    fc.property(columns, (times) => {
      expect(decodeSamples(encodeSamples(times))).toEqual(times);
    }),
    { numRuns: 300 },
  );
});

test('a blob of something else is refused', () => {
  expect(() => decodeSamples(Buffer.from('not zstd'))).toThrow('Unknown frame descriptor');
  const blob = encodeSamples(parseTimes(readFixture('formats/streams-4/times.json.br')));
  expect(() => decodeSamples(blob.subarray(0, -1))).toThrow(RangeError);
  expect(() => decodeSamples(Buffer.concat([blob, Buffer.of(0)]))).toThrow('bytes are left over');
});
