import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { layerFactsOf } from '../../src/layers/layer-facts.ts';
import {
  blockOf,
  compareTactics,
  describeTacticChange,
  originsInName,
  parseTactic,
  stableName,
  withoutNumbers,
} from '../../src/layers/layer-name.ts';
import { parseLayerInfo } from '../../src/trtexec/exports/layer-info.ts';
import { joinLayers, layersOf } from '../../src/layers/profiled-engine.ts';
import { NO_EXPORTS } from '../../src/trtexec/run-facts.ts';
import { GUIDE, onlyRun } from '../support/recordings.ts';

test.each([
  ['__mye58075+__mye58063+__mye58051_myl3_4', '__mye#+__mye#+__mye#'],
  ['_gemm_mha_v2_myl0_153', '_gemm_mha_v2'],
  ['cast_hvar^80753i64_myl3_6', 'cast_hvar^#i64'],
  ['blocks_0_mlp_fc2/MatMul_myl3_13', 'blocks_0_mlp_fc2/MatMul'],
  ['Name: /vit/query/MatMul_myl0_152', '/vit/query/MatMul'],
  ['Conv_0 + Relu_1 [profile 2]', 'Conv_0 + Relu_1'],
])('%s is %s in every build', (name, stable) => expect(stableName(name)).toBe(stable));

test.each([
  ['stem/Conv + stem/Relu', ['stem/Conv', 'stem/Relu']],
  ['/a/query/MatMul+/a/value/MatMul_myl0_152', ['/a/query/MatMul', '/a/value/MatMul']],
  ['{ForeignNode[blocks.0/Norm...head/Gemm]}', ['blocks.0/Norm', 'head/Gemm']],
  ['PWN(/a/Add, /b/Relu)', ['/a/Add', '/b/Relu']],
  ['Memcpy DtoH (Device -> Pageable)', ['Memcpy DtoH (Device -> Pageable)']],
  ['_gemm_mha_v2_myl0_153', []],
])('%s names the nodes %j itself', (name, nodes) => expect(originsInName(name)).toEqual(nodes));

test.each([
  ['/vit/encoder/layer.21/attention/attention/query/MatMul', 'layer.21/attention'],
  ['blocks.0.attn.qkv/MatMul', 'blocks.0/attn'],
  ['layer0.0.conv1/Conv', 'layer0.0/conv1'],
  ['blocks.3/Add1', 'blocks.3'],
  ['patch_embed/Conv', 'patch_embed'],
])('%s is in block %s', (node, block) => expect(blockOf(node)).toBe(block));

test('numbers of blocks are stars; numbers of nodes stay', () => {
  expect(withoutNumbers('blocks.11.mlp.fc1/MatMul')).toBe('blocks.*.mlp.fc1/MatMul');
  expect(withoutNumbers('layer1.0.conv2/Conv')).toBe('layer*.*.conv2/Conv');
  expect(withoutNumbers('/vit/layer.21/Add_1')).toBe('/vit/layer.*/Add_*');
});

test('what a kernel name tells', () => {
  const fp8 = 'sm89_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1';
  const types = 'e4m3e4m3_e4m3f32_f32';
  expect(parseTactic(fp8)).toEqual({ name: fp8, hash: null, architecture: 89, types, tile: '128x128x64', stages: 3 });
  const [a, b] = ['_gemm_mha_v2_0x829580c33391559b', '_gemm_mha_v2_0xc5f06354d8546fe5'];
  expect([compareTactics(a, b), compareTactics(a, a), compareTactics(a, null)]).toEqual(['otherHash', 'same', 'same']);
  const line = 'tile 128x128x64 → 64x64x64, stages 3 → 4';
  expect(describeTacticChange(fp8, fp8.replace('128x128x64', '64x64x64').replace('stage3', 'stage4'))).toBe(line);
});

test("TensorRT's guide, listing 24: a fused FP8 attention as text", () => {
  const log = onlyRun(readFileSync(join(GUIDE, 'listing-24-layer-info.log')));
  const [gemm, attention, ...more] = layerFactsOf(layersOf({ log, exports: NO_EXPORTS }) ?? []);
  expect(more).toEqual([]);
  expect(gemm).toMatchObject({ type: 'gemm', precisionIn: 'fp8', precisionOut: 'fp8', block: 'layer.21/attention' });
  expect(gemm?.name).toMatch(/^\/vit\/encoder\/layer\.21\//);
  expect([gemm?.origins?.length, gemm?.nodes?.length]).toEqual([16, 6]);
  expect(parseTactic(gemm?.tactic ?? '')).toMatchObject({ architecture: 89, tile: '128x128x64' });
  const block = 'layer.21/attention';
  expect(attention).toMatchObject({ stableName: '_gemm_mha_v2', type: 'kgen', precisionIn: 'fp8', block });
  expect(attention?.origins).toHaveLength(9);
  const format = '(Arbitrary) Format with stride order = [1,2,0]';
  expect(attention?.outputs).toEqual([{ name: '__mye200290_myl0', dimensions: [2048, 197, 64], type: 'fp8', format }]);
  expect(attention?.nodes).toContain('/vit/encoder/layer.21/attention/attention/Softmax');
});

test("TensorRT's guide, listing 27: the FP16 attention in Torch-TensorRT's schema gives the same fields", () => {
  const info = parseLayerInfo(readFileSync(join(GUIDE, 'listing-27-layer-info.json'), 'utf8'));
  const [attention] = layerFactsOf(joinLayers(null, info));
  expect(attention).toMatchObject({
    stableName: '_gemm_mha_v2',
    type: 'kgen',
    tactic: '_gemm_mha_v2_0x226b3a133b14795c1848781b9b93fa43',
    precisionIn: 'fp16',
    precisionOut: 'fp16',
    outputs: [{ dimensions: [2048, 197, 64], type: 'fp16', format: null }],
    origins: [],
  });
});
