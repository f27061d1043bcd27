import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { parseTraceEvents } from '../../../src/trtexec/exports/trace-events.ts';
import { GUIDE } from '../../support/recordings.ts';

const LISTING = readFileSync(join(GUIDE, 'listing-31-trace.json'), 'utf8');

test("the guide's event: 20884.6 us over 100 runs are 0.2088 ms a run", () => {
  const { iterations, layers } = parseTraceEvents(LISTING, 100);
  expect(iterations).toBe(100);
  expect(layers).toHaveLength(1);
  expect(layers[0]).toMatchObject({ name: '_gemm_mha_v2_myl0_90', timeMs: 20.8846, percentage: 100 });
  expect(layers[0]?.averageMs.toFixed(4)).toBe('0.2088');
});

test.each([
  ['a list', (event: string) => `[${event}, {"ph": "M", "name": "thread_name"}]`],
  ['under traceEvents', (event: string) => `{"traceEvents": [${event}]}`],
])('%s', (_name, wrap) => {
  expect(parseTraceEvents(wrap(LISTING), 100).layers).toHaveLength(1);
});

const onGpu = (name: string, dur: number, args: object, cat = 'kernel') => ({ ph: 'X', cat, name, dur, args });
const called = (cat: string, name: string, args: object) => ({ ph: 'X', cat, name, dur: 5, args });

test("PyTorch's profiler: the GPU's work by the operator that launched it, over the profiler's steps", () => {
  const events = [
    called('user_annotation', 'ProfilerStep#2', {}),
    called('gpu_user_annotation', 'ProfilerStep#2', {}),
    called('user_annotation', 'ProfilerStep#3', {}),
    called('cpu_op', 'aten::cudnn_convolution', { 'External id': 7 }),
    called('cpu_op', 'aten::relu_', { 'External id': 8 }),
    called('cuda_runtime', 'cudaLaunchKernel', { 'External id': 8, correlation: 41 }),
    onGpu('sm90_xmma_fprop', 300, { 'External id': 7, correlation: 40 }),
    onGpu('elementwise_kernel', 20, { correlation: 41 }),
    onGpu('nchwToNhwc', 100, { 'External id': 7, correlation: 42 }),
    onGpu('Memcpy HtoD (Pinned -> Device)', 60, { correlation: 43 }, 'gpu_memcpy'),
  ];
  const { iterations, layers } = parseTraceEvents(JSON.stringify({ schemaVersion: 1, traceEvents: events }), null);
  expect(iterations).toBe(2);
  expect(layers.map(({ name, averageMs }) => [name, averageMs])).toEqual([
    ['aten::cudnn_convolution', 0.2],
    ['aten::relu_', 0.01],
    ['Memcpy HtoD (Pinned -> Device)', 0.03],
  ]);
  expect(layers[0]?.percentage).toBeCloseTo(83.33, 2);
  expect(() => parseTraceEvents(JSON.stringify(events.slice(3)), null)).toThrow('add --runs N');
  expect(() => parseTraceEvents(JSON.stringify(events.slice(0, 5)), null)).toThrow('ProfilerActivity.CUDA');
});

test.each([
  ['[{"ph": "X", "name": "a"}]', 'event 1: dur: '],
  ['[]', 'no complete event ("ph": "X") in it'],
  ['[{"ph": "X"', 'not JSON: is it cut off?'],
  ['{"traceEvents": 1}', 'no list of trace events'],
])('%s is refused', (text, problem) => {
  expect(() => parseTraceEvents(text, 1)).toThrow(problem);
});
