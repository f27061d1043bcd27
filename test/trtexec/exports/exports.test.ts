import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { joinLayers } from '../../../src/layers/profiled-engine.ts';
import { parseExplorerMetadata, parseLayerInfo, parseOrigins } from '../../../src/trtexec/exports/layer-info.ts';
import { parseProfile } from '../../../src/trtexec/exports/profile.ts';
import { TimesReader } from '../../../src/trtexec/exports/times.ts';
import { parseTraceEvents } from '../../../src/trtexec/exports/trace-events.ts';
import { GUIDE, onlyRun, readFixture, recordedRun } from '../../support/recordings.ts';
import { parseTimes } from '../../support/whole-files.ts';

const profileText = readFixture('formats/profile-separate/profile.json.br').toString();
const layersText = readFixture('formats/profile-separate/layers.json.br').toString();

describe('--exportProfile', () => {
  test('every layer with its numbers', () => {
    const { iterations, layers } = parseProfile(profileText);
    expect([layers.length, layers[1]]).toMatchObject([26, { index: 1, name: 'stem/Conv + stem/Relu' }]);
    expect(iterations).toBeGreaterThan(1000);
    expect(layers.reduce((sum, { percentage }) => sum + percentage, 0)).toBeCloseTo(100, 3);
  });

  test('names with quotes, backslashes and control characters, which trtexec does not escape', () => {
    const text = [
      '[ { "count" : 5 }',
      ', { "name" : "a\u001eb", "timeMs" : 1, "averageMs" : 0.2, "medianMs" : 0.2, "percentage" : 50 }',
      ', { "name" : "say "hi" \\ there", "timeMs" : 1, "averageMs" : 0.2, "medianMs" : 0.2, "percentage" : 50 }',
      ', { "name" : "tricky", "timeMs" : 7", "timeMs" : 1, "averageMs" : 0.2, "medianMs" : 0.2, "percentage" : nan }',
      ', { "name" : "a\tb\nc", "timeMs" : 1, "averageMs" : 0.2, "medianMs" : 0.2, "percentage" : -nan(ind) }',
      ']',
    ].join('\n');
    const expected = ['a\u001eb', 'say "hi" \\ there', 'tricky", "timeMs" : 7', 'a\tb\nc'];
    expect(parseProfile(text).layers.map(({ name }) => name)).toEqual(expected);
  });
});

describe('--exportLayerInfo', () => {
  test('detailed: type, tactic, tensors and the ONNX nodes of each layer', () => {
    const layers = parseLayerInfo(layersText);
    expect(layers.length).toBe(26);
    const origins = ['stem/Conv', 'stem/Relu'];
    expect(layers[1]).toMatchObject({ name: 'stem/Conv + stem/Relu', type: 'CaskConvolution', origins });
    expect(layers[0]?.inputs[0]).toMatchObject({ name: 'input', type: 'fp16' });
  });

  test("the guide's excerpt: one schema has type and format in one string", () => {
    const excerpt = readFileSync(join(GUIDE, 'listing-27-layer-info.json'), 'utf8');
    const [layer] = parseLayerInfo(`{"Layers": [${excerpt}]}`);
    expect([layer, layer?.inputs?.length]).toMatchObject([{ name: '_gemm_mha_v2_myl3_248', type: 'kgen' }, 3]);
    const tensor = { name: '__mye469676_248_myl3', dimensions: [2048, 197, 64], type: 'fp16', format: null };
    expect(layer?.inputs[0]).toEqual(tensor);
  });
});

test('origins are joined by U+001E, by U+001F or by nothing, and may hold brackets', () => {
  expect(parseOrigins('[ONNX Layer: a]\u001e[ONNX Layer: b]')).toEqual(['a', 'b']);
  const expected = ['a/x', '(Unnamed Layer* 3) [ElementWise]'];
  expect(parseOrigins('[ONNX Layer: a/x]\u001f[ONNX Layer: (Unnamed Layer* 3) [ElementWise]]')).toEqual(expected);
  expect([parseOrigins('[ONNX Layer: a][ONNX Layer: b]'), parseOrigins('')]).toEqual([['a', 'b'], []]);
});

test('layers that repeat a name are joined in their order', () => {
  const profile = parseProfile(
    '[{"count":1},{"name":"a","timeMs":1,"averageMs":1,"percentage":50},{"name":"a","timeMs":2,"averageMs":2,"percentage":50}]',
  );
  const info = parseLayerInfo(
    '{"Layers":[{"Name":"a","LayerType":"first"},{"Name":"skipped"},{"Name":"a","LayerType":"second"}]}',
  );
  expect(joinLayers(profile.layers, info).map(({ timeMs, type }) => [timeMs, type])).toEqual([
    [1, 'first'],
    [2, 'second'],
  ]);
  const expected = [{ type: 'first', timeMs: null }, { name: 'skipped' }, { type: 'second', timeMs: null }];
  expect(joinLayers(null, info)).toMatchObject(expected);
});

describe('the printed table', () => {
  test("the guide's listing, of which the guide shows two rows", () => {
    const run = onlyRun(readFileSync(join(GUIDE, 'listing-25-profile.log')));
    expect(run.profile?.iterations).toBe(111);
    expect(run.profile?.layers.map((layer) => ({ ...layer, name: '' }))).toEqual([
      { index: 0, name: '', timeMs: 26.79, averageMs: 0.2413, medianMs: 0.2413, percentage: 0.8 },
      { index: 1, name: '', timeMs: 11.5, averageMs: 0.1036, medianMs: 0.1036, percentage: 0.4 },
    ]);
    expect(run.profile?.layers[1]?.name).toBe('_gemm_mha_v2_myl0_153');
    // Of the row `Total`: the layers that are listed are 1.2 % of it.
    const total = { averageMs: 29.0892, medianMs: 29.0876, timeMs: 3228.9 };
    expect(run.profile?.total).toEqual(total);
    const whole = recordedRun('formats/profile-separate').profile;
    expect([whole === null, whole?.total]).toEqual([false, undefined]);
  });

  test.each([
    ['8.4 has the name first, and a median', '  Median Time (ms)', '   0.1116', 0.1116],
    ['8.2 has none', '', '', null],
  ])('%s', (_, heading, median, medianMs) => {
    const lines = [
      '=== Profile (20 iterations ) ===',
      `           Layer   Time (ms)   Avg. Time (ms)${heading}   Time %`,
      ` Conv_0 + Relu_1        2.24           0.1120${median}     60.0`,
      `           Total        3.73           0.1865${median}    100.0`,
    ];
    expect(onlyRun(lines.map((line) => `[05/24/2022-13:24:18] [I] ${line}`).join('\n')).profile?.layers).toEqual([
      { index: 0, name: 'Conv_0 + Relu_1', timeMs: 2.24, averageMs: 0.112, medianMs, percentage: 60 },
    ]);
  });
});

const LISTING = readFileSync(join(GUIDE, 'listing-31-trace.json'), 'utf8');

test("the guide's event: 20884.6 us over 100 runs are 0.2088 ms a run", () => {
  const { iterations, layers } = parseTraceEvents(LISTING, 100);
  expect([iterations, layers.length]).toEqual([100, 1]);
  expect(layers[0]).toMatchObject({ name: '_gemm_mha_v2_myl0_90', timeMs: 20.8846, percentage: 100 });
  expect(layers[0]?.averageMs.toFixed(4)).toBe('0.2088');
});

test.each([
  ['a list', (event: string) => `[${event}, {"ph": "M", "name": "thread_name"}]`],
  ['under traceEvents', (event: string) => `{"traceEvents": [${event}]}`],
])('%s', (_name, wrap) => expect(parseTraceEvents(wrap(LISTING), 100).layers).toHaveLength(1));

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
  ['{"traceEvents": 1}', 'not a list of trace events'],
])('%s is refused', (text, problem) => expect(() => parseTraceEvents(text, 1)).toThrow(problem));

const ROW_KEYS = ['startEnqMs', 'endEnqMs', 'h2dMs', 'computeMs', 'd2hMs', 'latencyMs'];

function file(rows: readonly (readonly string[])[], keys = ROW_KEYS): Buffer {
  const lines = rows.map((row) => `{ ${row.map((value, i) => `"${keys[i]}" : ${value}`).join(', ')} }`);
  return Buffer.from(`[\n  ${lines.join('\n, ')}\n]\n`);
}

describe('a recorded file', () => {
  const bytes = readFixture('formats/enqueue-bound/times.json.br');
  const rows: readonly Record<string, number>[] = JSON.parse(bytes.toString());

  test('gives the same doubles as JSON.parse, every one', () => {
    const { count, columns } = parseTimes(bytes);
    expect(count).toBe(rows.length);
    for (const [name, values] of Object.entries(columns)) expect([...values]).toEqual(rows.map((row) => row[name]));
    expect(Object.keys(columns)).toHaveLength(12);
  });

  test.each([1, 13, 4096])('in chunks of %i bytes too', (size) => {
    const whole = Buffer.concat([bytes.subarray(0, bytes.indexOf('\n, {', 4000)), Buffer.from('\n]\n')]);
    const reader = new TimesReader();
    for (let at = 0; at < whole.length; at += size) reader.push(whole.subarray(at, at + size));
    expect(reader.end()).toEqual(parseTimes(whole));
  });

  test('is refused when it is cut anywhere', () => {
    for (const length of [0, 1, 5, 300, bytes.length - 3]) {
      expect(() => parseTimes(bytes.subarray(0, length))).toThrow('not closed');
    }
  });
});

test.each(['-nan', 'inf', '1e999', '-1e999'])('%s is no time: the file is refused', (value) => {
  expect(() => parseTimes(file([['0', '1', value, '0.5', '1', '1']]))).toThrow('row 1: "h2dMs" is not a finite number');
});

test('any numbers that trtexec can print come back exactly', () => {
  const number = fc.double({ min: 1e-6, max: 1e7, noNaN: true }).map((value) => String(Number(value.toPrecision(6))));
  fc.assert(
    fc.property(fc.array(fc.array(number, { minLength: 6, maxLength: 6 }), { minLength: 1 }), (rows) => {
      expect([...(parseTimes(file(rows)).columns.computeMs ?? [])]).toEqual(rows.map((row) => Number(row[3])));
    }),
  );
});

test('what trt-engine-explorer took out of the log', () => {
  const text = JSON.stringify({
    inference_options: {
      'Input inference shape': 'input.1=32x3x224x224',
      Streams: '2',
      'Data transfers': 'Disabled',
      'Spin-wait': 'Enabled',
      'CUDA Graph': 'Enabled',
    },
    device_information: { 'Selected Device': 'NVIDIA A100 80GB PCIe' },
  });
  expect(parseExplorerMetadata(text)).toEqual({
    shapes: { 'input.1': [32, 3, 224, 224] },
    cudaGraph: true,
    dataTransfers: false,
    spinWait: true,
    streams: 2,
    gpuName: 'NVIDIA A100 80GB PCIe',
  });
});
