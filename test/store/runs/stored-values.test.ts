import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import { hashModel } from '../../../src/files/hashes.ts';
import type { AccuracyRecord } from '../../../src/records/accuracy.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { accuracyHistory, saveAccuracy } from '../../../src/store/runs/model-accuracies.ts';
import { decodeSamples, encodeSamples } from '../../../src/store/runs/blob-codecs.ts';
import { hashOf } from '../../../src/text/canonical-json.ts';
import { QUERY_TIME_COLUMNS } from '../../../src/trtexec/run-facts.ts';
import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { accuracyOf } from '../../support/deployments.ts';
import { OUTPUTS, benchJson, jsonOf } from '../../support/outputs.ts';
import { readFixture } from '../../support/recordings.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { parseTimes } from '../../support/whole-files.ts';

const FIRST_FORMAT =
  'KLUv/WAEAF0FAJLJIyuQRekz+mfe9x0THenTR6k/KoQMvOU1be/NhFtubb10UAPXZFneWdcAVYQpj///HxUMXJ6EAEEUoHgTkbyBGLyhTH6m8jOWM4SDirEGqJl8bh0tcrNHH3NQcyqus9dSbpEnOzdJ9DE4NZbWWYrgrg0oDz1Z013LkMWlFmtphPUV1nassq3zrG0Gp3RL/QcICQDjwgjCJ0G3s+IIdIfVZ7sqK6pOV6vgAQ==';

test.each([
  ['formats/enqueue-bound', 12, 4.7],
  ['gpu-contended/vit_base.fp16.b8.graph1', 12, 6],
  ['formats/no-transfers-graph-spin', 12, 4],
])('%s: %d columns come back exactly, at under %d bytes a query', (folder, columns, bytes) => {
  const times = parseTimes(readFixture(`${folder}/times.json.br`));
  const blob = encodeSamples(times);
  expect([decodeSamples(blob), Object.keys(times.columns).length]).toEqual([times, columns]);
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
    { numRuns: 100 },
  );
});

test('a blob of something else is refused', () => {
  expect(() => decodeSamples(Buffer.from('not zstd'))).toThrow('Unknown frame descriptor');
  const blob = encodeSamples(parseTimes(readFixture('formats/streams-4/times.json.br')));
  expect(() => decodeSamples(blob.subarray(0, -1))).toThrow(RangeError);
  expect(() => decodeSamples(Buffer.concat([blob, Buffer.of(0)]))).toThrow('bytes are left over');
});

function record(variantSha256: string, sqnrDb: number | null, day: number): AccuracyRecord {
  const content = {
    sweepId: null,
    model: 'small',
    precision: 'fp16' as const,
    precisionVia: 'onnx' as const,
    referenceSha256: 'f'.repeat(64),
    variantSha256,
    inputs: { kind: 'random' as const, seed: 1, distribution: 'normal' as const, shapes: { input: [3] } },
    accuracy: {
      ...accuracyOf(sqnrDb),
      top1: { same: 60, of: 64 },
      custom: { name: 'eval {model}', variant: 0.75, reference: 0.76 },
    },
    versions: { onnxruntime: '1.24.4' },
    provenance: 'measured' as const,
    measuredAt: `2026-11-${day}T02:00:00.000Z`,
  };
  return { accuracyId: hashOf(content), ...content };
}

describe('the accuracy of the file that an engine was built from', () => {
  let db: string;
  let first: string;
  let second: string;

  function save(...records: AccuracyRecord[]): void {
    const store = openStore(db, join(ROOT, 'migrations'));
    for (const one of records) saveAccuracy(store.db, one);
    store.close();
  }

  beforeAll(async () => {
    const folder = sharedFolder();
    db = join(folder, 'bench.sqlite');
    const matrix = stubMatrix(folder, ['repeats: 3']);
    const model = join(folder, 'model.onnx');
    const night = ['run', matrix, '--trtexec', STUB, '--no-telemetry', '--db', db];
    first = await hashModel(model);
    if ((await bench(night)).code !== 0) throw new Error('the first night failed');
    writeFileSync(model, 'another model\n');
    second = await hashModel(model);
    if ((await bench(night)).code !== 0) throw new Error('the second night failed');
    save(record(first, 30, 20), record(second, 20, 21));
  }, 60_000);

  test('what is stored is read back as it was', () => {
    const store = openStore(db, join(ROOT, 'migrations'));
    try {
      const expected = [record(second, 20, 21), record(first, 30, 20)];
      expect(accuracyHistory(store.db, { model: 'small', precision: 'fp16' })).toEqual(expected);
      expect(accuracyHistory(store.db, { model: 'small', precision: 'fp8' })).toEqual([]);
    } finally {
      store.close();
    }
  });

  test('compare and trend take it as a metric: ten dB less are 3.16 times the error', async () => {
    const metric = ['--metric', 'outputErrorPercent', '--db', db];
    const compared = await benchJson(OUTPUTS.compare, ['compare', 'latest~1', 'latest', ...metric]);
    expect(compared.code).toBe(1);
    for (const { verdict, unit, base, head } of compared.json.cells) {
      expect([verdict, unit]).toEqual(['slower', '%']);
      expect({ base, head }).toEqual({ base: expect.closeTo(100 * 10 ** -1.5, 9), head: expect.closeTo(10, 9) });
    }
    const [cell] = (await jsonOf(OUTPUTS.trend, ['trend', 'batch=8', '--by', 'sweep', ...metric])).cells;
    expect(cell?.points.map(({ value }) => Number(value?.toFixed(3)))).toEqual([3.162, 10]);
  });

  test('check tells the fall on the night of the new file, once for all its cells', async () => {
    const { code, json } = await benchJson(OUTPUTS.check, ['check', '--db', db]);
    const { findings } = json;
    const metrics = [{ metric: 'sqnrDb', before: 30, after: 20 }];
    expect([code, findings]).toMatchObject([1, [{ state: 'new', lasts: 'measured', metrics }]]);
    expect(findings[0]?.cells).toHaveLength(2);
    expect((await bench(['check', '--db', db])).stdout).toContain('SQNR 30.0 dB → 20.0 dB');
    const before = await bench(['check', '--as-of', 'latest~1', '--db', db]);
    expect([before.code, before.stdout.split('\n')[0]]).toEqual([0, 'first sweep: nothing to compare with']);
  });

  test('of several comparisons of one file the newest counts', async () => {
    save(record(second, null, 22));
    expect(await bench(['choose', '--db', db])).toMatchObject({ stdout: expect.stringMatching(/small .* equal/) });
  });
});
