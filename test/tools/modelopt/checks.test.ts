import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';
import * as z from 'zod';

import { readOnnxFacts } from '../../../src/tools/onnx/onnx-file.ts';
import type { OnnxTensorInfo } from '../../../src/tools/onnx/facts.ts';
import { problemOf } from '../../../src/records/conversion.ts';
import type { PlannedVariant } from '../../../src/records/plan.ts';
import {
  arrayFactsSchema,
  calibrationInputs,
  checkBase,
  checkCalibration,
} from '../../../src/tools/modelopt/check-base.ts';
import { ROOT, temporaryFolder } from '../../support/bench.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';

const MODELS = join(ROOT, 'test', 'fixtures', 'onnx');
const DATA = join(ROOT, 'test', 'fixtures', 'calibration');

function fp8(more: Partial<PlannedVariant> = {}): PlannedVariant {
  return {
    variantRef: '0'.repeat(32),
    label: 'm fp8',
    by: 'modelopt',
    precision: 'fp8',
    onnxPath: 'm.onnx',
    opTypes: [],
    calibration: { kind: 'random', seed: 1, samples: 8, shapes: {} },
    args: [],
    timeoutS: 60,
    ...more,
  };
}

function shapes(of: Readonly<Record<string, readonly number[]>>): Partial<PlannedVariant> {
  return { calibration: { kind: 'random', seed: 1, samples: 8, shapes: of } };
}

async function problem(model: string, variant: PlannedVariant): Promise<string | null> {
  const facts = await readOnnxFacts(join(MODELS, model));
  const mistake = checkBase(facts, variant, model);
  if (mistake !== null) return problemOf(mistake);
  const inputs = calibrationInputs(facts, variant, model);
  return 'evidence' in inputs ? problemOf(inputs) : null;
}

describe('what is refused before ModelOpt is started', () => {
  const STATED = shapes({ input_ids: [2, 8], attention_mask: [2, 8, 16] });
  const SAY =
    'say with which sizes it is calibrated: shapes in calibration ({input_ids: 1x3x224x224}), or --calibration-shapes input_ids:1x3x224x224';

  test.each<[string, string, Partial<PlannedVariant>, string | null]>([
    [
      'a model that is quantized already',
      'quantized.onnx',
      {},
      ' is quantized already (7 Q/DQ nodes): make fp8 from the model before that, or name it as it is (precisions: {fp8: {onnx: FILE}})',
    ],
    ['a near operator', 'vit_tiny.onnx', { opTypes: ['Matmul'] }, ' has no operator Matmul; did you mean "MatMul"?'],
    ['another operator', 'mlp_tiny.onnx', { opTypes: ['LSTM'] }, ' has no operator LSTM (it has Gemm, Relu)'],
    ['operators of the model are fine', 'vit_tiny.onnx', { opTypes: ['MatMul', 'Conv'] }, null],
    [
      'a name that is no input, which ModelOpt ignores without a word',
      'vit_tiny.onnx',
      shapes({ foo: [1, 3, 32, 32] }),
      ' has no input "foo" (it has input)',
    ],
    [
      'a shape that the model cannot have',
      'vit_tiny.onnx',
      shapes({ input: [8, 3, 16, 16] }),
      ': input "input" is [batch, 3, 32, 32], not 8x3x16x16',
    ],
    [
      'a dynamic dimension without a size, which ModelOpt calibrates as 1',
      'external.onnx',
      {},
      `: input "input_ids" is [batch, sequence]: ${SAY}`,
    ],
    ['sizes that are stated are fine', 'external.onnx', STATED, null],
  ])('%s', async (_, model, variant, expected) => {
    expect(await problem(model, fp8(variant))).toBe(expected && model + expected);
  });
});

const INPUT: OnnxTensorInfo = { name: 'input', elementType: 'float32', shape: ['batch', 3, 4, 4] };

/** As `python/read_arrays.py` says it. */
function arraysOf(file: string) {
  const job = join(temporaryFolder(), 'job.json');
  writeFileSync(job, JSON.stringify({ path: join(DATA, file) }));
  const printed = execFileSync(TEST_PYTHON ?? '', [join(ROOT, 'python', 'read_arrays.py'), job], { encoding: 'utf8' });
  return z
    .union([z.object({ arrays: z.array(arrayFactsSchema) }), z.object({ problem: z.string() })])
    .parse(JSON.parse(printed));
}

describe.skipIf(TEST_PYTHON === null)(`the user's calibration data (${NEEDS_PYTHON})`, () => {
  const STEP = { input: [4, 3, 4, 4] };
  const NO_NPZ = 'it is no npz or npy file of plain numbers (numpy.savez writes them), or it is damaged';

  test.for([
    ['good.npz', null],
    ['single.npy', null],
    ['double.npz', 'input: it is float64, and the model takes float32: save it with .astype("float32")'],
    ['wrong_name.npz', 'the model has no input "inptu" (it has input); did you mean "input"?'],
    ['extra.npz', 'the model has no input "mask" (it has input)'],
    ['wrong_shape.npz', 'input: it is [8, 3, 2, 2], and the model takes [batch, 3, 4, 4]'],
    ['few.npz', 'input: 2 samples are fewer than one step of 4'],
    ['empty.npz', 'input: 0 samples are fewer than one step of 4'],
    ['nan.npz', 'input: 2 values are not finite (NaN or infinity)'],
    ['objects.npz', NO_NPZ],
    ['make.py', NO_NPZ],
  ] as const)('%s', ([file, expected]) => {
    const read = arraysOf(file);
    expect('problem' in read ? read.problem : checkCalibration(read.arrays, { inputs: [INPUT] }, STEP)).toBe(expected);
  });
});

test('an npy for a model of two inputs, an input without data, different numbers of samples', () => {
  const mask: OnnxTensorInfo = { name: 'mask', elementType: 'float32', shape: ['batch', null] };
  const array = { name: 'input', descr: '<f4', shape: [8, 3, 4, 4], notFinite: 0 };
  const both = { inputs: [INPUT, mask] };
  for (const name of ['', 'input']) {
    expect(checkCalibration([{ ...array, name }], both, {})).toBe('there is no array for the input "mask"');
  }
  expect(checkCalibration([array, { name: 'mask', descr: '<f4', shape: [7, 2], notFinite: 0 }], both, {})).toBe(
    'the inputs have different numbers of samples: input 8, mask 7',
  );
});
