import { describe, expect, test } from 'vitest';

import type { Plan, PlannedVariant } from '../../../src/records/plan.ts';
import { planFor } from '../../support/plan-for.ts';

const MODEL = ['models:', '  vit:', '    onnx: vit.onnx', '    shapes: {input: [batch, 3, 224, 224]}'];

const planOf = (...lines: readonly string[]): Plan => planFor('11.0', [...MODEL, ...lines].join('\n'));

function onlyVariant(...lines: readonly string[]): PlannedVariant {
  const { variants } = planOf(...lines);
  const [only] = variants;
  if (only === undefined || variants.length !== 1) throw new Error(`${variants.length} variants`);
  return only;
}

const BATCHES = 'axes: {batch: [1, 8], precision: [fp8]}';
const OPT = 'build: {opt: {batch: 8}}';

describe('the command line of a conversion', () => {
  test('FP16 by AutoCast, with the types of inputs and outputs kept, at the smallest shape', () => {
    const variant = onlyVariant('axes: {batch: [1, 8], precision: fp16}', OPT);
    expect(variant.args.join(' ')).toBe(
      '-m modelopt.onnx.autocast --onnx_path=model.onnx --low_precision_type=fp16 --keep_io_types --calibration_data=calibration.npz --output_path=variant.onnx',
    );
    expect(variant.calibration).toEqual({ kind: 'random', seed: 1, samples: 1, shapes: { input: [1, 3, 224, 224] } });
    expect(variant.onnxPath).toBe(`${process.cwd()}/vit.onnx`);
  });

  test('FP8 by ModelOpt, on random data of the shape that the engine is tuned for', () => {
    const variant = onlyVariant(BATCHES, OPT);
    expect(variant.args.join(' ')).toBe(
      '-m modelopt.onnx.quantization --onnx_path=model.onnx --quantize_mode=fp8 --calibration_data_path=calibration.npz --calibration_shapes=input:8x3x224x224 --calibration_eps=cpu --output_path=variant.onnx',
    );
    expect(variant.calibration).toEqual({ kind: 'random', seed: 1, samples: 8, shapes: { input: [8, 3, 224, 224] } });
  });

  test('every option, in a fixed order whatever the order of the file', () => {
    const options = 'quantizeAttention: false, timeoutS: 120, opset: 19, dqOnly: true, keepIoTypes: false';
    const nodes = 'exclude: [head/.*, "/conv1$"], opTypes: [MatMul, Conv], excludeOpTypes: [Add], highPrecision: bf16';
    const calibration = 'calibration: {shapes: {input: 4x3x224x224}, method: max, data: data/calib.npz}';
    const variant = onlyVariant(
      BATCHES,
      OPT,
      `precisions: {fp8: {${options}, ${nodes}, ${calibration}, via: modelopt}}`,
    );
    expect(variant.args.slice(2).join(' ')).toBe(
      '--onnx_path=model.onnx --quantize_mode=fp8 --calibration_method=max --calibration_data_path=calibration.npz --calibration_shapes=input:4x3x224x224 --calibration_eps=cpu --high_precision_dtype=bf16 --op_types_to_quantize MatMul Conv --op_types_to_exclude Add --nodes_to_exclude head/.* /conv1$ --disable_mha_qdq --dq_only --direct_io_types --opset=19 --output_path=variant.onnx',
    );
    expect(variant).toMatchObject({
      timeoutS: 120,
      opTypes: ['MatMul', 'Conv', 'Add'],
      calibration: { kind: 'file', path: `${process.cwd()}/data/calib.npz` },
    });
  });

  test('INT4 by round to nearest looks at weights alone: nothing is calibrated', () => {
    const variant = onlyVariant(
      'axes: {batch: 8, precision: int4}',
      'precisions: {int4: {via: modelopt, calibration: {method: rtn_dq}}}',
    );
    expect(variant.calibration).toBeNull();
    expect(variant.args).not.toContain('--calibration_data_path=calibration.npz');
  });
});

describe('what shares a variant', () => {
  test('engines with other build flags do; other precisions and options do not', () => {
    const plan = planOf('axes: {batch: 8, precision: [fp32, fp16, fp8], --maxAuxStreams: [0, 4]}');
    expect([plan.variants.map(({ label }) => label), plan.builds.length]).toEqual([['vit fp16', 'vit fp8'], 6]);
    const refs = plan.builds.map(({ label, variantRef }) => [label.split(' --')[0], variantRef?.slice(0, 4)]);
    const [fp16, fp8] = plan.variants.map(({ variantRef }) => variantRef.slice(0, 4));
    const each = [
      ['vit fp16', fp16],
      ['vit fp32', undefined],
      ['vit fp8', fp8],
    ];
    expect(refs.toSorted()).toEqual(each.flatMap((ref) => [ref, ref]));
  });

  test('the engine is built from the variant, and the cell stays the same cell whatever the options', () => {
    const plain = planOf('axes: {batch: 8, precision: fp8}');
    const other = planOf('axes: {batch: 8, precision: fp8}', 'precisions: {fp8: {via: modelopt, dqOnly: true}}');
    expect(plain.builds[0]?.args[0]).toBe('--onnx={variant}');
    expect(other.cells[0]?.cell.key).toBe(plain.cells[0]?.cell.key);
    expect(other.builds[0]?.buildRef).not.toBe(plain.builds[0]?.buildRef);
  });
});
