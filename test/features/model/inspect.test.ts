import { hash } from 'node:crypto';
import { writeFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { bench, temporaryFolder, refusal } from '../../support/bench.ts';
import { ONNX_MODELS } from '../../support/onnx-models.ts';
import { model, valueInfo, writeSparse, toBytes } from '../../support/onnx-writer.ts';

describe('bench model inspect', () => {
  test('inputs, outputs, facts, what needs care, and what to write', async () => {
    const { code, stdout, stderr } = await bench(['model', 'inspect', 'control_flow.onnx'], { cwd: ONNX_MODELS });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toEqual([
      'control_flow.onnx · 708 B · opset 18 · IR 10 · make_fixtures 1.0',
      '',
      '        name    type     shape',
      'input   x       float32  [batch, ?, 4]',
      'input   start   float32  [1]',
      'output  found   int64    [2, hits]',
      'output  looped  float32  [1]',
      'output  y       float32  unknown',
      '',
      'nodes         4, and 6 in control flow and functions',
      'operators     Add×2 · NonZero×2 · Constant×1 · Identity×1 · If×1 · Loop×1 · local::Twice×1',
      '              vendor.ops::MyPlugin_TRT×1',
      'initializers  1; 41 B in the file, 0 B in others',
      'weights       float16 40 B in 1 tensor · bool 1 B in 1 tensor',
      'quantized     0 quantize and 0 dequantize',
      '',
      'in a matrix:   shapes: {x: [batch, dim1, 4]}',
      'with trtexec:  --shapes=x:1x1x4',
      '! NonZero (2): the amount of work depends on the values; random inputs mislead, give real ones',
      '  (inputs: {INPUT: FILE} in a matrix)',
      '! If (1), Loop (1): the host evaluates them; a CUDA graph is unlikely to be captured or to help',
      '! vendor.ops::MyPlugin_TRT (1): not of ONNX; TensorRT needs plugins for that',
      '',
    ]);
  });

  test('what it suggests plans; a model without dynamic dimensions needs no shapes', async () => {
    const folder = temporaryFolder();
    const odd = valueInfo(11, 'in:put', ['floor(h/2)', 3, '2n']);
    writeSparse(join(folder, 'odd.onnx'), model(17, ...odd, ...valueInfo(11, 'mask', [7, 3])));
    writeSparse(join(folder, 'fixed.onnx'), model(17, ...valueInfo(11, 'x', [8, 3])));
    writeSparse(join(folder, 'comma.onnx'), model(17, ...valueInfo(11, 'a,b', ['n', 3])));
    const suggested = async (name: string): Promise<{ shapes: string; trtexecFlag: string }> => {
      return JSON.parse((await bench(['model', 'inspect', name, '--json'], { cwd: folder })).stdout).suggested;
    };
    const ofOdd = await suggested('odd.onnx');
    const ofFixed = await suggested('fixed.onnx');
    expect(ofOdd).toEqual({ shapes: '{"in:put": [floor_h_2_, 3, _2n]}', trtexecFlag: '--shapes=in:put:1x3x1' });
    expect(ofFixed).toEqual({ shapes: 'static', trtexecFlag: null });
    expect(await suggested('comma.onnx')).toEqual({ shapes: null, trtexecFlag: null });
    const models = `{odd: {onnx: odd.onnx, shapes: ${ofOdd.shapes}}, fixed: {onnx: fixed.onnx, shapes: ${ofFixed.shapes}}}`;
    const axes = '{precision: fp32, floor_h_2_: 4, _2n: 2}';
    writeFileSync(join(folder, 'm.yaml'), `models: ${models}\naxes: ${axes}\n`);
    const stderr = '';
    expect(await bench(['plan', 'm.yaml', '--tensorrt', '10.6'], { cwd: folder })).toMatchObject({ code: 0, stderr });
  });

  test('a quantized model says how much of it, and to what', async () => {
    const text = 'quantized     4 quantize and 3 dequantize: float8e4m3fn 3 · int8 2 · int4 1 · float8e5m2 1\n';
    expect((await bench(['model', 'inspect', join(ONNX_MODELS, 'quantized.onnx')])).stdout).toContain(text);
  });
});

test('what it cannot read: one line, exit code 2', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'text.onnx'), 'a model');
  const text = 'bench: text.onnx: not readable as ONNX: byte 0: no field of a protobuf message\n';
  expect(await bench(['model', 'inspect', 'text.onnx'], { cwd })).toEqual(refusal(text));
});

const [INT64, BOOL] = [7, 9];

/** A model with an image, tokens and a mask, of which the first two have open sizes. */
function place(): string {
  const folder = temporaryFolder();
  const inputs = [
    ...valueInfo(11, 'image', ['batch', 3, 4]),
    ...valueInfo(11, 'tokens/ids', ['batch', 8], INT64),
    ...valueInfo(11, 'mask', [8], BOOL),
  ];
  writeFileSync(join(folder, 'three.onnx'), toBytes(model(17, ...inputs)));
  return folder;
}

const SHAPES = ['--shapes', 'image:2x3x4,tokens/ids:2x8'];

function filesOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).toSorted();
  return Object.fromEntries(names.map((name) => [name, hash('sha256', readFileSync(join(folder, name)))]));
}

describe('bench model make-inputs', () => {
  test('writes a file for each input, the same bytes every time', async () => {
    const cwd = place();
    const args = ['model', 'make-inputs', 'three.onnx', ...SHAPES];
    const first = await bench(args, { cwd });
    expect([first.code, first.stderr]).toEqual([0, '']);
    const [, , , ...rows] = first.stdout.split('\n');
    expect(first.stdout.split('\n')[0]).toBe('3 inputs of three.onnx in three-inputs/: uniform, seed 1');
    expect(rows.slice(0, 3).map((row) => row.split(/ {2,}/).slice(0, 4))).toEqual([
      ['image', 'float16', '2x3x4', '48 B'],
      ['tokens/ids', 'int64', '2x8', '128 B'],
      ['mask', 'bool', '8', '8 B'],
    ]);
    const files = filesOf(join(cwd, 'three-inputs'));
    expect(Object.keys(files)).toEqual([
      'image.float16.bin',
      'inputs.json',
      'mask.bool.bin',
      expect.stringMatching(/^tokens_ids-[\da-f]{8}\.int64\.bin$/),
    ]);
    expect([(await bench(args, { cwd })).code, filesOf(join(cwd, 'three-inputs'))]).toEqual([0, files]);
    await bench([...args, '--output', 'elsewhere'], { cwd });
    expect(filesOf(join(cwd, 'elsewhere'))).toEqual(files);
    await bench([...args, '--output', 'other', '--seed', '2'], { cwd });
    expect(filesOf(join(cwd, 'other'))['image.float16.bin']).not.toBe(files['image.float16.bin']);
  });

  test('the line for a matrix is one, and its files fit', async () => {
    const cwd = place();
    const made = await bench(['model', 'make-inputs', 'three.onnx', ...SHAPES, '--dist', 'normal'], { cwd });
    const inputs = /in a matrix: {3}(inputs: .*)/.exec(made.stdout)?.[1];
    const shapes = 'shapes: {image: [batch, 3, 4], tokens/ids: [batch, 8]}';
    const three = `{onnx: three.onnx, ${shapes}, precisions: {fp16: onnx}, ${inputs}}`;
    const matrix = (batch: number) => `models: {three: ${three}}\naxes: {precision: fp16, batch: ${batch}}\n`;
    writeFileSync(join(cwd, 'm.yaml'), matrix(2));
    const plan = await bench(['plan', 'm.yaml', '--tensorrt', '11.0', '--json'], { cwd });
    expect([plan.code, plan.stderr]).toEqual([0, '']);
    expect(plan.stdout).toContain(`--loadInputs=image:${cwd}/three-inputs/image.float16.bin,`);
    const sha256 = filesOf(join(cwd, 'three-inputs'))['image.float16.bin'] ?? 'none';
    expect(plan.stdout).toContain(sha256);
    writeFileSync(join(cwd, 'm.yaml'), matrix(4));
    const wrong = await bench(['plan', 'm.yaml', '--tensorrt', '11.0'], { cwd });
    expect([wrong.code, wrong.stderr.split('\n')[0]]).toEqual([2, expect.stringContaining('48 bytes')]);
  });

  test('the manifest says how they were made, and --json the same', async () => {
    const cwd = place();
    const args = ['model', 'make-inputs', 'three.onnx', ...SHAPES, '--integers', '0..99', '--seed', '5'];
    const printed = await jsonOf(OUTPUTS['make-inputs'], args, { cwd });
    const manifest: unknown = JSON.parse(readFileSync(join(cwd, 'three-inputs', 'inputs.json'), 'utf8'));
    const recipe = { distribution: 'uniform', seed: 5, integers: [0, 99], model: 'three.onnx' };
    expect(printed).toMatchObject({ ...recipe, folder: 'three-inputs' });
    expect(manifest).toMatchObject({ ...recipe, recipeVersion: 1 });
    const name = readdirSync(join(cwd, 'three-inputs')).find((each) => each.startsWith('tokens'));
    const tokens = readFileSync(join(cwd, 'three-inputs', name ?? ''));
    const ids = Array.from({ length: 16 }, (_, index) => Number(tokens.readBigInt64LE(8 * index)));
    expect(ids.every((id) => id >= 0 && id <= 99)).toBe(true);
  });

  test.each([
    [[], 'the model leaves sizes open: add --shapes image:1x3x4,tokens/ids:1x8'],
    [['--shapes', 'image:2x3x4'], 'the model leaves sizes open: add --shapes image:2x3x4,tokens/ids:1x8'],
    [
      ['--shapes', 'imag:2x3x4,tokens/ids:2x8'],
      'the model has no input "imag" (it has image, tokens/ids, mask); did you mean "image"?',
    ],
    [['--shapes', 'image:2x3,tokens/ids:2x8'], 'input image is [batch, 3, 4], not 2x3'],
    [['--shapes', 'image:2x3x5,tokens/ids:2x8'], 'input image is [batch, 3, 4], not 2x3x5'],
    [['--shapes', 'image:0x3x4,tokens/ids:2x8'], 'input image is [batch, 3, 4], not 0x3x4'],
  ])('%s is refused in one line', async (shapes, problem) => {
    const cwd = place();
    const args = ['model', 'make-inputs', 'three.onnx', ...shapes];
    expect(await bench(args, { cwd })).toEqual(refusal(`bench: three.onnx: ${problem}\n`));
    expect(readdirSync(cwd)).toEqual(['three.onnx']);
  });

  test('what a matrix may use is not written over', async () => {
    const cwd = place();
    const args = ['model', 'make-inputs', 'three.onnx', ...SHAPES];
    await bench(args, { cwd });
    const before = filesOf(join(cwd, 'three-inputs'));
    const text = 'exists with other contents, and a matrix may use it: choose another --output';
    const expected = refusal(`bench: ${cwd}/three-inputs/image.float16.bin ${text}\n`);
    expect(await bench([...args, '--seed', '2'], { cwd })).toEqual(expected);
    expect(filesOf(join(cwd, 'three-inputs'))).toEqual(before);
  });
});
