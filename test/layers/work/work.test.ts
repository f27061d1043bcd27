import { execFileSync } from 'node:child_process';

import { describe, expect, test } from 'vitest';

import type { LayerFacts } from '../../../src/layers/layer-facts.ts';
import type { EngineConditions } from '../../../src/layers/profiled-engine.ts';
import { engineEfficiency, GPU_PEAKS, peakFlops, peaksOf } from '../../../src/layers/work/efficiency.ts';
import type { Efficiency, ShapedModel } from '../../../src/layers/work/efficiency.ts';
import { flopsOf } from '../../../src/layers/work/layer-work.ts';
import { measuredWork } from '../../support/measured-work.ts';
import { onnxNetwork } from '../../support/onnx-models.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';
import { recordedLayers } from '../../support/recorded-layers.ts';

/** Operator, shapes of its inputs and of its output, attributes, FLOPs; `?`: not known. */
const CASES: readonly (readonly [string, object, number | null])[] = [
  // 2 x 112 x 112 x 64 outputs, each of 7 x 7 x 3 multiplications.
  ['Conv 2x3x224x224 64x3x7x7 64 -> 2x64x112x112', {}, 2 * 1_605_632 * 147],
  // Depthwise: one channel for each output.
  ['Conv 1x32x8x8 32x1x3x3 -> 1x32x8x8', { group: 32 }, 2 * 2048 * 9],
  // One dimension, as in audio.
  ['Conv 1x4x10 8x4x3 -> 1x8x8', {}, 2 * 64 * 12],
  ['ConvTranspose 1x4x5x5 4x2x2x2 -> 1x2x10x10', {}, 2 * 100 * 8],
  ['MatMul 8x197x768 768x3072 -> 8x197x3072', {}, 2 * 8 * 197 * 3072 * 768],
  ['MatMul 8x12x197x64 8x12x64x197 -> 8x12x197x197', {}, 2 * 8 * 12 * 197 * 197 * 64],
  ['MatMul 5x3 3 -> 5', {}, 2 * 5 * 3],
  ['MatMul ? 3x7 -> ?', {}, null],
  ['Gemm 8x512 1000x512 1000 -> 8x1000', { transB: 1 }, 2 * 8 * 1000 * 512],
  ['Gemm 512x8 512x1000 -> 8x1000', { transA: 1 }, 2 * 8 * 1000 * 512],
  ['Einsum 2x5x3 2x3x7 -> 2x5x7', { equation: 'bij,bjk->bik' }, 2 * 2 * 5 * 3 * 7],
  ['Einsum 5x3 3x7 -> 5x7', { equation: 'ij,jk' }, 2 * 5 * 3 * 7],
  ['Einsum 2x3 3x4 -> 2x4', { equation: '...i,ij->...j' }, null],
  ['LSTM 10x2x8 1x64x8 1x64x16 -> 10x1x2x16', { hidden_size: 16 }, null],
  ['Softmax 2x8 -> 2x8', {}, 0],
  ['NonZero 3 -> ?', {}, 0],
  ['If 1 -> 3', {}, null],
  ['vendor::Plugin 3 -> 3', {}, null],
];

const SCRIPT = `
import json, sys
sys.path.insert(0, "python")
import onnx, measure_work
def one(text, attributes, _):
    shape = lambda word: None if word == "?" else [int(size) for size in word.split("x")]
    operator, *inputs, _, output = text.split()
    domain, _, op = operator.rpartition("::")
    node = onnx.helper.make_node(op, [str(i) for i in range(len(inputs))], ["y"], domain=domain, **attributes)
    return measure_work.flops(node, [shape(word) for word in inputs], shape(output))
print(json.dumps([one(*case) for case in json.loads(sys.argv[1])]))
`;

test.skipIf(TEST_PYTHON === null)(`FLOPs of operators (${NEEDS_PYTHON})`, () => {
  const printed = execFileSync(TEST_PYTHON ?? '', ['-c', SCRIPT, JSON.stringify(CASES)], { encoding: 'utf8' });
  const flops: unknown[] = JSON.parse(printed);
  expect(CASES.map(([text], place) => [text, flops[place]])).toEqual(CASES.map(([text, , known]) => [text, known]));
});

const gigaFlops = (bytes: Uint8Array, batch = 1): number =>
  (flopsOf(measuredWork(bytes, { input: [batch, 3, 224, 224] }).nodes) ?? 0) / 1e9;

/**
 * torchvision's `_ops` of the same networks, at 224 x 224 (torchvision/models/resnet.py and vision_transformer.py of
 * pytorch/vision): billions of multiplications with their additions, which it calls FLOPS and which are two operations.
 */
describe.skipIf(TEST_PYTHON === null)(`FLOPs of published networks (${NEEDS_PYTHON})`, () => {
  test.each([
    ['ResNet-18', 1.814, onnxNetwork('resnet18')],
    ['ResNet-34', 3.664, onnxNetwork('resnet34')],
    ['ResNet-50', 4.089, onnxNetwork('resnet50')],
    ['ViT-B/16', 17.564, onnxNetwork('vit_base')],
  ])('%s has 2 x %d GFLOP within 0.1 %% in its matrix products', (_, macs, bytes) => {
    expect(Math.abs(gigaFlops(bytes) / (2 * macs) - 1)).toBeLessThan(0.001);
  });

  test('FLOPs of a batch are those of its images', () => {
    const bytes = onnxNetwork('vit_tiny');
    expect(gigaFlops(bytes, 8)).toBeCloseTo(8 * gigaFlops(bytes), 9);
  });
});

const NETWORKS = {
  resnet_small: onnxNetwork('resnet18'),
  vit_small: onnxNetwork('vit_tiny'),
  vit_base: onnxNetwork('vit_base'),
};

function shaped(model: keyof typeof NETWORKS, input = [8, 3, 224, 224]): ShapedModel {
  return { name: `${model}.onnx`, work: measuredWork(NETWORKS[model], { input }) };
}

const H200: EngineConditions = {
  computeCapability: '9.0',
  gpuName: 'NVIDIA H200',
  maxSmClockMhz: 1980,
  mig: 'off',
  smClockMhz: null,
};

function recorded(model: keyof typeof NETWORKS, folder: string, ms: number) {
  const layers = recordedLayers(folder);
  const { engine, layers: each } = engineEfficiency(layers, shaped(model), H200, ms);
  const rows = layers.flatMap((layer, place): { layer: LayerFacts; efficiency: Efficiency }[] => {
    const efficiency = each?.[place];
    return efficiency === undefined ? [] : [{ layer, efficiency }];
  });
  return { rows, engine };
}

/** GPU compute time of batch 8 with a CUDA graph, without the profiler, from the README of the recordings. */
const RECORDED = [
  ['vit_base', 'nights/1-profile/vit_base.fp16.b8', 0.988, 26.6, 90],
  ['vit_small', 'nights/1-profile/vit_small.fp8.b8', 0.8166, 1.2, 138],
  ['resnet_small', 'nights/1-profile/resnet_small.int8.b8', 0.1451, 9.3, 23],
  ['resnet_small', 'nights/1-profile/resnet_small.fp8.b8', 0.2363, 6.1, 31],
] as const;

describe.skipIf(TEST_PYTHON === null)(`on recorded runs of an H200 (${NEEDS_PYTHON})`, () => {
  test.each(RECORDED)('%s of %s: below the peak, all products found', (model, folder, ms, percent, computing) => {
    const { engine, rows } = recorded(model, folder, ms);
    expect(100 * (engine.peakShare ?? 0)).toBeCloseTo(percent, 0);
    expect(engine.knownShare).toBeCloseTo(1, 9);
    for (const { efficiency } of rows) {
      expect(efficiency.peakShare ?? 0).toBeLessThan(1);
      expect(efficiency.bandwidthShare ?? 0).toBeLessThan(1);
    }
    expect(rows.filter(({ layer }) => layer.kind === 'compute')).toHaveLength(computing);
  });

  test('a fused layer is the sum of its nodes: 8 x 197 rows, 768 to 3072, GELU within', () => {
    const { rows } = recorded('vit_base', 'nights/1-profile/vit_base.fp16.b8', 0.988);
    const fused = rows.find(({ layer }) => layer.name === '__myl_Fc_myl3_12')?.efficiency;
    const [rowsIn, wide] = [8 * 197, 8 * 197 * 3072];
    expect(fused).toMatchObject({
      flops: 2 * rowsIn * 768 * 3072,
      // In, weights, bias, three scalars, out: each of two bytes, nothing in between.
      bytes: 2 * (rowsIn * 768 + 768 * 3072 + 3072 + 3 + wide),
      precision: 'fp16',
      bound: 'compute',
    });
    expect(fused?.ridge).toBeCloseTo((132 * 4096 * 1980e6) / 4.8e12, 6);
  });

  test('attention is one kernel of two products; what goes between two kernels is read and written', () => {
    const { rows } = recorded('vit_base', 'nights/1-profile/vit_base.fp16.b8', 0.988);
    const attention = rows.find(({ layer }) => layer.name === '_gemm_mha_v2_myl3_9')?.efficiency;
    const heads = 8 * 12 * 197;
    expect([attention?.flops, attention?.bytes]).toEqual([2 * 2 * heads * 197 * 64, 2 * (4 * heads * 64 + 1)]);
    const addition = rows.find(({ layer }) => layer.nodes.includes('blocks.1/Add1'))?.efficiency;
    // Sum of two tensors, normalized: both are wanted later.
    expect(addition?.bytes).toBe(2 * (4 * 8 * 197 * 768 + 2 * 768));
    expect([addition?.precision, addition?.peakShare, addition?.bound]).toEqual([null, null, 'memory']);
  });
});

/** Dense, in 10^12 a second, as NVIDIA's whitepapers and datasheets print them at the boost clock. */
const PUBLISHED: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  H200: { tf32: 494.7, fp16: 989.4, bf16: 989.4, fp8: 1978.9, int8: 1978.9 },
  'H100 80GB HBM3': { tf32: 494.7, fp16: 989.4, bf16: 989.4, fp8: 1978.9, int8: 1978.9 },
  'H100 PCIe': { tf32: 378, fp16: 756, fp8: 1513, int8: 1513 },
  'A100-SXM4-80GB': { fp32: 19.5, tf32: 156, fp16: 312, bf16: 312, int8: 624, int4: 1248 },
  'A100 80GB PCIe': { fp32: 19.5, tf32: 156, fp16: 312, int8: 624 },
  'A100-SXM4-40GB': { fp32: 19.5, tf32: 156, fp16: 312, int8: 624 },
  A30: { fp32: 10.3, tf32: 82, fp16: 165, int8: 330, int4: 661 },
  A10: { fp32: 31.2, tf32: 62.5, fp16: 125, int8: 250, int4: 500 },
  A40: { fp32: 37.4, tf32: 74.8, fp16: 149.7, int8: 299.3, int4: 598.7 },
  'RTX A6000': { fp32: 38.7, tf32: 77.4, fp16: 154.8, int8: 309.7 },
  L4: { fp32: 30.3, tf32: 60, fp16: 121, fp8: 242.5, int8: 242.5 },
  L40S: { fp32: 91.6, tf32: 183, fp16: 366, fp8: 733, int8: 733 },
  'RTX 6000 Ada Generation': { fp32: 91.1, tf32: 182.1, fp16: 364.2, fp8: 728.5 },
  'GeForce RTX 4090': { fp32: 82.6, tf32: 82.6, bf16: 165.2, fp16: 330.3, fp8: 660.6, int8: 660.6 },
  T4: { fp32: 8.1, fp16: 65, int8: 130, int4: 260 },
  'V100-SXM2-16GB': { fp32: 15.7, fp16: 125 },
};

test('the published peaks follow from SMs, operations of an SM in a clock, and the clock', () => {
  expect(GPU_PEAKS.map(({ names: [name] }) => name).toSorted()).toEqual(Object.keys(PUBLISHED).toSorted());
  for (const [name, published] of Object.entries(PUBLISHED)) {
    const found = peaksOf(`NVIDIA ${name}`);
    for (const [precision, tflops] of Object.entries(published)) {
      const peak = found === null ? 0 : (peakFlops(found, precision, found.boostMhz) ?? 0);
      expect([name, precision, Math.abs(peak / 1e12 / tflops - 1) < 0.012]).toEqual([name, precision, true]);
    }
  }
});

test.skipIf(TEST_PYTHON === null)('what is not known is said, and nothing is made up', () => {
  const layers = recordedLayers('nights/1-profile/resnet_small.fp16.b8');
  const model = shaped('resnet_small');
  const of = (changes: Partial<EngineConditions>, onnx: ShapedModel | string = model) =>
    engineEfficiency(layers, onnx, { ...H200, ...changes }, 0.2077);
  const other = of({ gpuName: 'NVIDIA T1000' });
  const missing = ['the peaks of NVIDIA T1000 are not known here'];
  expect(other.engine).toMatchObject({ flops: 29_025_173_504, peakShare: null, knownShare: null, missing });
  expect(other.engine.tflopsPerS).toBeCloseTo(139.7, 1);
  expect(other.layers?.every(({ bound, peakShare }) => bound === null && peakShare === null)).toBe(true);
  expect(of({ mig: 'on' }).engine.missing).toEqual(['a part of a GPU (MIG): its peak is not known']);
  expect(of({}, 'no model').engine).toMatchObject({ flops: null, onnx: null, missing: ['no model'] });
  expect(of({}, 'no model').layers).toBeNull();
  const open = of({}, shaped('resnet_small', [8, 3]));
  expect(open.engine).toMatchObject({ flops: null, peakShare: null });
  expect(open.engine.missing[0]).toBe('FLOPs of Conv, Gemm are not known');
  const clocks = [of({ smClockMhz: 1500 }), of({}), of({ maxSmClockMhz: null })].map(({ engine }) => engine);
  expect(clocks.map(({ clockFrom, smClockMhz }) => [clockFrom, smClockMhz])).toEqual([
    ['measured', 1500],
    ['highest', 1980],
    ['published', 1980],
  ]);
  expect((clocks[0]?.peakShare ?? 0) / (clocks[1]?.peakShare ?? 1)).toBeCloseTo(1980 / 1500, 9);
});
