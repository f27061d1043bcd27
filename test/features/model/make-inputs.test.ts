import { hash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { model, toBytes, valueInfo } from '../../support/onnx-writer.ts';

const [FLOAT, INT64, BOOL, DOUBLE] = [1, 7, 9, 11];

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
  const hashOf = (name: string) => hash('sha256', readFileSync(join(folder, name)));
  const names = readdirSync(folder).toSorted();
  return Object.fromEntries(names.map((name) => [name, hashOf(name)]));
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
    expect((await bench(args, { cwd })).code).toBe(0);
    expect(filesOf(join(cwd, 'three-inputs'))).toEqual(files);
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
    const made = await bench(
      ['model', 'make-inputs', 'three.onnx', ...SHAPES, '--integers', '0..99', '--seed', '5', '--json'],
      { cwd },
    );
    const printed: unknown = JSON.parse(made.stdout);
    expect(() => OUTPUTS['make-inputs'].parse(printed)).not.toThrow();
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
      'the model has no input imag (it has image, tokens/ids, mask); did you mean "image"?',
    ],
    [['--shapes', 'image:2x3,tokens/ids:2x8'], 'input image: 2x3 has 2 dimensions, the model 3: [batch, 3, 4]'],
    [
      ['--shapes', 'image:2x3x5,tokens/ids:2x8'],
      'input image: 5 in dimension 2, which the model fixes at 4: [batch, 3, 4]',
    ],
    [['--shapes', 'image:0x3x4,tokens/ids:2x8'], 'input image: a size must be at least 1'],
  ])('%s is refused in one line', async (shapes, problem) => {
    const cwd = place();
    const { code, stderr, stdout } = await bench(['model', 'make-inputs', 'three.onnx', ...shapes], { cwd });
    expect([code, stdout, stderr]).toEqual([2, '', `bench: three.onnx: ${problem}\n`]);
    expect(readdirSync(cwd)).toEqual(['three.onnx']);
  });

  test.each<[string[], string | RegExp]>([
    [['--dist', 'gauss'], /Allowed choices are uniform, normal, ones, zeros/],
    [['--integers', '9..1'], /must be such as 0\.\.30521, the lower one first/],
    [['--integers', '0..1', '--dist', 'ones'], '--integers does not apply to --dist ones'],
    [['--output', 'a,b'], /a path with , or :/],
    [['--seed', 'x'], /seed/],
  ])('%s is wrong use', async (options, problem) => {
    const cwd = place();
    const { code, stderr } = await bench(['model', 'make-inputs', 'three.onnx', ...SHAPES, ...options], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(problem);
    expect(readdirSync(cwd)).toEqual(['three.onnx']);
  });

  test('no model, none that ONNX knows, a type that TensorRT does not take', async () => {
    const cwd = place();
    writeFileSync(join(cwd, 'text.onnx'), 'no model');
    const inputs = [...valueInfo(11, 'x', [2], FLOAT), ...valueInfo(11, 'y', [2], DOUBLE)];
    writeFileSync(join(cwd, 'double.onnx'), toBytes(model(17, ...inputs)));
    for (const [file, problem] of [
      ['lost.onnx', 'no such file or folder'],
      ['text.onnx', 'not readable as ONNX'],
      ['double.onnx', 'input y is float64, which TensorRT takes at no input (it takes float32, '],
    ] as const) {
      const { stderr } = await bench(['model', 'make-inputs', file], { cwd });
      expect(stderr.slice(0, problem.length + file.length + 9)).toBe(`bench: ${file}: ${problem}`);
    }
  });

  test('what a matrix may use is not written over', async () => {
    const cwd = place();
    const args = ['model', 'make-inputs', 'three.onnx', ...SHAPES];
    await bench(args, { cwd });
    const before = filesOf(join(cwd, 'three-inputs'));
    const { code, stderr } = await bench([...args, '--seed', '2'], { cwd });
    expect([code, stderr]).toEqual([
      2,
      `bench: ${cwd}/three-inputs/image.float16.bin is there with other bytes, and a matrix may use it: take another --output\n`,
    ]);
    expect(filesOf(join(cwd, 'three-inputs'))).toEqual(before);
  });
});
