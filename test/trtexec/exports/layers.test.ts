import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { parseLayerInfo, parseOrigins } from '../../../src/trtexec/exports/layer-info.ts';
import { parseProfile } from '../../../src/trtexec/exports/profile.ts';
import { joinLayers } from '../../../src/layers/profiled-engine.ts';
import { GUIDE, onlyRun, readFixture, recordedRun } from '../../support/recordings.ts';

const profileText = readFixture('formats/profile-separate/profile.json.br').toString();
const layersText = readFixture('formats/profile-separate/layers.json.br').toString();

describe('--exportProfile', () => {
  test('every layer with its numbers', () => {
    const { iterations, layers } = parseProfile(profileText);
    expect(layers).toHaveLength(26);
    expect(layers[1]).toMatchObject({ index: 1, name: 'stem/Conv + stem/Relu' });
    expect(iterations).toBeGreaterThan(1000);
    const share = layers.reduce((sum, { percentage }) => sum + percentage, 0);
    expect(share).toBeCloseTo(100, 3);
  });

  test('names with quotes, backslashes and control characters, which trtexec does not escape', () => {
    const text = [
      '[',
      '  { "count" : 5 }',
      ', { "name" : "a\u001eb", "timeMs" : 1, "averageMs" : 0.2, "medianMs" : 0.2, "percentage" : 50 }',
      ', { "name" : "say "hi" \\ there", "timeMs" : 1, "averageMs" : 0.2, "medianMs" : 0.2, "percentage" : 50 }',
      ', { "name" : "tricky", "timeMs" : 7", "timeMs" : 1, "averageMs" : 0.2, "medianMs" : 0.2, "percentage" : nan }',
      ']',
    ].join('\n');
    expect(parseProfile(text).layers.map(({ name }) => name)).toEqual([
      'a\u001eb',
      'say "hi" \\ there',
      'tricky", "timeMs" : 7',
    ]);
  });
});

describe('--exportLayerInfo', () => {
  test('detailed: type, tactic, tensors and the ONNX nodes of each layer', () => {
    const { detail, layers } = parseLayerInfo(layersText);
    expect([detail, layers.length]).toEqual(['detailed', 26]);
    const origins = ['stem/Conv', 'stem/Relu'];
    expect(layers[1]).toMatchObject({ name: 'stem/Conv + stem/Relu', type: 'CaskConvolution', origins });
    expect(layers[0]?.inputs[0]).toMatchObject({ name: 'input', type: 'fp16' });
  });

  test("the guide's excerpt: one schema has type and format in one string", () => {
    const excerpt = readFileSync(join(GUIDE, 'listing-27-layer-info.json'), 'utf8');
    const [layer] = parseLayerInfo(`{"Layers": [${excerpt}]}`).layers;
    expect(layer).toMatchObject({ name: '_gemm_mha_v2_myl3_248', type: 'kgen' });
    expect(layer?.inputs).toHaveLength(3);
    const tensor = { name: '__mye469676_248_myl3', dimensions: [2048, 197, 64], type: 'fp16', format: null };
    expect(layer?.inputs[0]).toEqual(tensor);
  });
});

test('origins are joined by U+001E, by U+001F or by nothing, and may hold brackets', () => {
  expect(parseOrigins('[ONNX Layer: a]\u001e[ONNX Layer: b]')).toEqual(['a', 'b']);
  expect(parseOrigins('[ONNX Layer: a/x]\u001f[ONNX Layer: (Unnamed Layer* 3) [ElementWise]]')).toEqual([
    'a/x',
    '(Unnamed Layer* 3) [ElementWise]',
  ]);
  expect(parseOrigins('[ONNX Layer: a][ONNX Layer: b]')).toEqual(['a', 'b']);
  expect(parseOrigins('')).toEqual([]);
});

test('layers that repeat a name are joined in their order', () => {
  const profile = parseProfile(
    '[{"count":1},{"name":"a","timeMs":1,"averageMs":1,"percentage":50},{"name":"a","timeMs":2,"averageMs":2,"percentage":50}]',
  );
  const info = parseLayerInfo(
    '{"Layers":[{"Name":"a","LayerType":"first"},{"Name":"skipped"},{"Name":"a","LayerType":"second"}]}',
  );
  const joined = joinLayers(profile.layers, info.layers);
  expect(joined.map(({ timeMs, type }) => [timeMs, type])).toEqual([
    [1, 'first'],
    [2, 'second'],
  ]);
  expect(joinLayers(null, info.layers)).toMatchObject([
    { type: 'first', timeMs: null },
    { name: 'skipped' },
    { type: 'second', timeMs: null },
  ]);
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
    expect(run.profile?.total).toEqual({ averageMs: 29.0892, medianMs: 29.0876 });
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
    const run = onlyRun(lines.map((line) => `[05/24/2022-13:24:18] [I] ${line}`).join('\n'));
    expect(run.profile?.layers).toEqual([
      { index: 0, name: 'Conv_0 + Relu_1', timeMs: 2.24, averageMs: 0.112, medianMs, percentage: 60 },
    ]);
  });
});
