import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { readOnnxFacts } from '../../../src/tools/onnx/onnx-file.ts';
import { problemOf } from '../../../src/records/conversion.ts';
import type { PlannedVariant } from '../../../src/records/plan.ts';
import { calibrationInputs, checkBase } from '../../../src/tools/modelopt/check-base.ts';
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

const INPUT = { name: 'input', elementType: 'float32', shape: ['batch', 3, 4, 4] };
const MASK = { name: 'mask', elementType: 'float32', shape: ['batch', null] };

/** Runs `python/calibration.py`: its problem, or the file that it writes. */
function brought(job: object): { readonly problem: string | null; readonly path: string } {
  const folder = temporaryFolder();
  const [file, path] = [join(folder, 'job.json'), join(folder, 'calibration.npz')];
  writeFileSync(file, JSON.stringify({ target: path, ...job }));
  const args = [join(ROOT, 'python', 'calibration.py'), file];
  const answer = JSON.parse(execFileSync(TEST_PYTHON ?? '', args, { encoding: 'utf8' }));
  return { problem: answer.problem ?? null, path };
}

describe.skipIf(TEST_PYTHON === null)(`calibration data (${NEEDS_PYTHON})`, () => {
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
    ['objects.npz', 'input: it holds Python objects: save plain arrays of numbers'],
    ['make.py', 'it is no npz file (numpy.savez writes them) and no npy file, or it is damaged'],
  ] as const)('%s is checked, and copied', ([file, expected]) => {
    const data = join(DATA, file);
    const { path, problem: found } = brought({ path: data, inputs: [INPUT], steps: { input: [4, 3, 4, 4] } });
    expect(found).toBe(expected);
    if (expected === null) expect(readFileSync(path)).toEqual(readFileSync(data));
  });

  test('an npy for a model of two inputs, an input without data, another step', () => {
    const both = (file: string) => brought({ path: join(DATA, file), inputs: [INPUT, MASK], steps: {} }).problem;
    expect(both('single.npy')).toBe('an npy file holds one array, and the model has 2 inputs: save an npz with all');
    expect(both('good.npz')).toBe('there is no array for the input "mask"');
    const step = { path: join(DATA, 'good.npz'), inputs: [INPUT], steps: { input: [4, 3, 8, 4] } };
    expect(brought(step).problem).toBe('input: it is [8, 3, 4, 4], and one step is [4, 3, 8, 4]');
  });

  test('random data: the same bytes for the same seed, whole steps of every type', () => {
    const types = ['float32', 'float16', 'float64', 'int64', 'bool'];
    const inputs = types.map((elementType) => ({ name: `${elementType} $x`, elementType, shape: [2, 8] }));
    const drawn = (seed: number, samples = 5) => readFileSync(brought({ seed, samples, inputs }).path);
    expect(drawn(1).equals(drawn(1))).toBe(true);
    expect(drawn(1).equals(drawn(2))).toBe(false);
    expect(drawn(1).length).toBe(drawn(1, 6).length);
  });
});
