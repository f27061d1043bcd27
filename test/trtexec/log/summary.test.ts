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

test('TensorRT 7 with dynamic shapes says 0 qps: it is computed from queries and wall time', () => {
  // Made from the format of 7.1 in NVIDIA's sampleReporting.cpp.
  const P = '[05/24/2020-13:24:18] [I]';
  const run = onlyRun(
    [
      '&&&& RUNNING TensorRT.trtexec # ./trtexec --onnx=a.onnx',
      `${P} Warmup completed 20 queries over 200 ms`,
      `${P} Timing trace has 600 queries over 3.0 s`,
      `${P} Trace averages of 10 runs:`,
      `${P} Average on 10 runs - GPU latency: 4.5 ms - Host latency: 5 ms (end to end 9 ms, enqueue 0.5 ms)`,
      `${P} Host Latency`,
      `${P} min: 4.9 ms (end to end 8 ms)`,
      `${P} max: 5.4 ms (end to end 10 ms)`,
      `${P} mean: 5 ms (end to end 9 ms)`,
      `${P} median: 5.01 ms (end to end 9.1 ms)`,
      `${P} percentile: 5.3 ms at 99% (end to end 9.9 ms at 99%)`,
      `${P} throughput: 0 qps`,
      `${P} walltime: 3.0 s`,
      `${P} Enqueue Time`,
      `${P} min: 0.4 ms`,
      `${P} max: 0.7 ms`,
      `${P} median: 0.5 ms`,
      `${P} GPU Compute`,
      `${P} min: 4.4 ms`,
      `${P} max: 4.8 ms`,
      `${P} mean: 4.5 ms`,
      `${P} median: 4.51 ms`,
      `${P} percentile: 4.7 ms at 99%`,
      `${P} total compute time: 2.7 s`,
      '&&&& PASSED TensorRT.trtexec # ./trtexec --onnx=a.onnx',
    ].join('\n'),
  );
  expect(run.measurement?.throughputQps).toBe(200);
  expect(run.measurement?.latencyMs).toEqual({ min: 4.9, max: 5.4, mean: 5, median: 5.01, percentiles: { '99': 5.3 } });
  expect(run.measurement?.enqueueMs).toEqual({ min: 0.4, max: 0.7, mean: null, median: 0.5, percentiles: {} });
  expect(run.measurement?.gpuTotalS).toBe(2.7);
  expect(run.traceAverages?.enqueueMs).toEqual([0.5]);
});

test('a report that is cut in the middle is no measurement', () => {
  const text = readFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), 'utf8');
  const cut = text.slice(0, text.indexOf('Total Host Walltime'));
  expect(onlyRun(cut).measurement).toBeNull();
});

test('nan and inf are no measurement', () => {
  const text = readFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), 'utf8');
  expect(onlyRun(text.replace('19.2498 qps', 'inf qps')).measurement).toBeNull();
  expect(onlyRun(text.replaceAll('median = 51.9817', 'median = -nan')).measurement).toBeNull();
});
