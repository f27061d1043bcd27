import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { derive } from '../../../src/trtexec/log/derived.ts';
import { GUIDE, onlyRun, recordedRun } from '../../support/recordings.ts';

// Listings of TensorRT's own benchmarking guide: ViT-L, batch 128.
const fp16 = onlyRun(readFileSync(join(GUIDE, 'listing-06-fp16-summary.log')));
const fp8 = onlyRun(readFileSync(join(GUIDE, 'listing-11-fp8-summary.log')));

test('the FP16 listing, to the digit', () => {
  expect(fp16.measurement).toEqual({
    throughputQps: 19.2498,
    latencyMs: {
      min: 51.5081,
      max: 52.1182,
      mean: 51.9474,
      median: 51.9817,
      percentiles: { '90': 52.074, '95': 52.0845, '99': 52.1182 },
    },
    enqueueMs: {
      min: 0.00384521,
      max: 0.0101318,
      mean: 0.0071022,
      median: 0.00738525,
      percentiles: { '90': 0.0090332, '95': 0.00939941, '99': 0.0101318 },
    },
    h2dMs: null,
    gpuComputeMs: {
      min: 51.5081,
      max: 52.1182,
      mean: 51.9474,
      median: 51.9817,
      percentiles: { '90': 52.074, '95': 52.0845, '99': 52.1182 },
    },
    d2hMs: null,
    hostWalltimeS: 3.11691,
    gpuTotalS: 3.11684,
  });
});

test('what follows from the FP16 listing', () => {
  const derived = derive(fp16, null);
  // 19.2498 qps for 3.11691 s are 59.9999 queries.
  expect(derived.queries).toBe(60);
  expect(derived.gpuBusy).toBeCloseTo(0.99998, 5);
  expect(derived.enqueueRatio).toBeCloseTo(0.000142, 6);
  expect(derived.enqueueClass).toBe('free');
  // 2463.97 images a second; the guide cuts instead of rounding.
  expect((fp16.measurement?.throughputQps ?? 0) * 128).toBeCloseTo(2463.97, 2);
});

test('the FP8 listing has 106 queries, so that p99 is not the maximum', () => {
  const derived = derive(fp8, null);
  expect(derived.queries).toBe(106);
  expect(fp8.measurement?.gpuComputeMs.percentiles['99']).toBe(28.9761);
  expect(fp8.measurement?.gpuComputeMs.max).toBe(28.9861);
  expect(fp8.measurement?.enqueueMs?.percentiles['99']).toBe(0.0175781);
  expect(fp8.measurement?.enqueueMs?.max).toBe(0.0180664);
  expect(derived.gpuBusy).toBeCloseTo(0.99996, 5);
});

test('any list of percentiles is read under its own names', () => {
  const { measurement } = recordedRun('formats/percentiles-odd');
  expect(Object.keys(measurement?.gpuComputeMs.percentiles ?? {})).toEqual(['50', '100', '99.9']);
});

test('transfers are null when they were off', () => {
  const { measurement, options } = recordedRun('formats/no-transfers');
  expect(options.dataTransfers).toBe(false);
  expect(measurement?.h2dMs).toBeNull();
  expect(measurement?.d2hMs).toBeNull();
  expect(measurement?.latencyMs.median).toBe(measurement?.gpuComputeMs.median);
});

test('the report of TensorRT 7 has headings, and no mean of the enqueue times', () => {
  const { measurement } = onlyRun(readFileSync(join(import.meta.dirname, 'lines', 'jetson.txt')));
  expect(measurement?.latencyMs).toEqual({
    min: 4.39917,
    max: 8.58171,
    mean: 4.48906,
    median: 4.44601,
    percentiles: { '99': 5.68823 },
  });
  expect(measurement?.enqueueMs).toEqual({ min: 4.32037, max: 8.43929, mean: null, median: 4.39526, percentiles: {} });
  const line = 'Average on 10 runs - GPU latency: 4.5 ms - Host latency: 5 ms (end to end 9 ms, enqueue 0.5 ms)';
  expect(onlyRun(`[05/24/2020-13:24:18] [I] ${line}\n`).traceAverages?.enqueueMs).toEqual([0.5]);
});

test('a report that is cut in the middle, and nan and inf, are no measurement', () => {
  const text = readFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), 'utf8');
  const cut = text.slice(0, text.indexOf('Total Host Walltime'));
  const faulty = [text.replace('19.2498 qps', 'inf qps'), text.replaceAll('median = 51.9817', 'median = -nan')];
  expect([cut, ...faulty].map((log) => onlyRun(log).measurement)).toEqual([null, null, null]);
});
