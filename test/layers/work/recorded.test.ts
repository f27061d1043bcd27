import { describe, expect, test } from 'vitest';

import {
  type Efficiency,
  GPU_PEAKS,
  type ShapedModel,
  engineEfficiency,
  peakFlops,
  peaksOf,
} from '../../../src/layers/work/efficiency.ts';
import type { EngineConditions } from '../../../src/layers/profiled-engine.ts';
import type { LayerFacts } from '../../../src/layers/layer-facts.ts';
import { measuredWork } from '../../support/measured-work.ts';
import { onnxNetwork } from '../../support/onnx-models.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';
import { recordedLayers } from '../../support/recorded-layers.ts';

const NETWORKS = {
  resnet_small: onnxNetwork('resnet18'),
  vit_small: onnxNetwork('vit_tiny'),
  vit_base: onnxNetwork('vit_base'),
};

function shaped(model: keyof typeof NETWORKS, input = [8, 3, 224, 224]): ShapedModel {
  return { name: `${model}.onnx`, work: measuredWork(NETWORKS[model], { input }) };
}

const H200: EngineConditions = { gpuName: 'NVIDIA H200', maxSmClockMhz: 1980, mig: 'off', smClockMhz: null };

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
  ['resnet_small', 'nights/1-profile/resnet_small.fp8.b8', 0.2363, 6.1, 32],
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
  expect(other.engine).toMatchObject({
    flops: 29_025_173_504,
    peakShare: null,
    knownShare: null,
    missing: ['the peaks of NVIDIA T1000 are not known here'],
  });
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
