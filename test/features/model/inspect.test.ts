import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { printable } from '../../../src/text/printable.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { ONNX_MODELS } from '../../support/onnx-models.ts';
import { initializer, model, node, valueInfo, writeSparse } from '../../support/onnx-writer.ts';

const FIXTURES = ['vit_tiny', 'control_flow', 'quantized', 'old_ir', 'external'];

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
      'initializers  1; weights of 41 B in the file, 0 B in others',
      'weights       float16 40 B in 1 tensor · bool 1 B in 1 tensor',
      'quantized     no',
      '',
      'in a matrix:   shapes: {x: [batch, dim1, 4]}',
      'with trtexec:  --shapes=x:1x1x4',
      '',
      '! NonZero (2): how much work it is hangs on the values; random inputs mislead, give real ones',
      '  (inputs: {INPUT: FILE} in a matrix)',
      '! If (1), Loop (1): the host decides in between; a CUDA graph is not likely to be captured or to',
      '  help',
      '! vendor.ops::MyPlugin_TRT (1): not of ONNX; TensorRT needs plugins for that',
      '',
    ]);
  });

  test.each(FIXTURES)('--json of %s is as its schema says, strictly', async (name) => {
    const { code, stdout } = await bench(['model', 'inspect', join(ONNX_MODELS, `${name}.onnx`), '--json']);
    expect([code, OUTPUTS.inspect.safeParse(JSON.parse(stdout)).error?.issues ?? []]).toEqual([0, []]);
  });

  test('what it suggests plans; a model without dynamic dimensions needs no shapes', async () => {
    const folder = temporaryFolder();
    const odd = valueInfo(11, 'in:put', ['floor(h/2)', 3, '2n']);
    writeSparse(join(folder, 'odd.onnx'), model(17, ...odd, ...valueInfo(11, 'mask', [7, 3])));
    writeSparse(join(folder, 'fixed.onnx'), model(17, ...valueInfo(11, 'x', [8, 3])));
    const suggested = async (name: string): Promise<{ shapes: string; trtexecFlag: string }> => {
      const { stdout } = await bench(['model', 'inspect', name, '--json'], { cwd: folder });
      return JSON.parse(stdout).suggested;
    };
    const ofOdd = await suggested('odd.onnx');
    const ofFixed = await suggested('fixed.onnx');
    expect(ofOdd).toEqual({ shapes: '{"in:put": [floor_h_2_, 3, _2n]}', trtexecFlag: '--shapes=in:put:1x3x1' });
    expect(ofFixed).toEqual({ shapes: 'static', trtexecFlag: null });
    const models = `{odd: {onnx: odd.onnx, shapes: ${ofOdd.shapes}}, fixed: {onnx: fixed.onnx, shapes: ${ofFixed.shapes}}}`;
    const axes = '{precision: fp32, floor_h_2_: 4, _2n: 2}';
    writeFileSync(join(folder, 'm.yaml'), `models: ${models}\naxes: ${axes}\n`);
    const { code, stderr } = await bench(['plan', 'm.yaml', '--tensorrt', '10.6'], { cwd: folder });
    expect([code, stderr]).toEqual([0, '']);
  });

  test('a quantized model says how much of it, and to what', async () => {
    const { stdout } = await bench(['model', 'inspect', join(ONNX_MODELS, 'quantized.onnx')]);
    expect(stdout).toContain(
      'quantized     4 quantize and 3 dequantize: float8e4m3fn 3 · int8 2 · int4 1 · float8e5m2 1\n',
    );
  });

  test('names that would drive a terminal', async () => {
    const folder = temporaryFolder();
    const evil = '\u001b[31mred\u0007\n\u202e';
    const graph = [...node(evil, [evil], evil), ...initializer('w', 4, evil), ...valueInfo(11, evil, [evil, 3])];
    writeSparse(join(folder, 'evil.onnx'), model(17, ...graph));
    const { code, stdout } = await bench(['model', 'inspect', 'evil.onnx'], { cwd: folder });
    expect(code).toBe(0);
    for (const line of stdout.split('\n')) expect(printable(line)).toBe(line);
  });
});

describe('what it cannot read: one line, exit code 2', () => {
  test.each([
    ['missing.onnx', 'no such file or folder'],
    ['folder.onnx', 'not readable as ONNX: a folder, not a file'],
    ['empty.onnx', 'not readable as ONNX: the file is empty'],
    ['text.onnx', 'not readable as ONNX: byte 0: no field of a protobuf message'],
  ])('%s', async (name, problem) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'folder.onnx'));
    writeFileSync(join(cwd, 'empty.onnx'), '');
    writeFileSync(join(cwd, 'text.onnx'), 'a model');
    const { code, stdout, stderr } = await bench(['model', 'inspect', name], { cwd });
    expect([code, stdout, stderr]).toEqual([2, '', `bench: ${name}: ${problem}\n`]);
  });
});
