import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ROOT, temporaryFolder } from '../../support/bench.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';

const FIXTURES = join(ROOT, 'test', 'fixtures');

/** As PyTorch exports a reshape with a dynamic batch: its sizes are computed from the shape of an earlier tensor. */
const RESHAPE = `import numpy, onnx, sys
from onnx import helper, numpy_helper
def ints(*values): return numpy_helper.from_array(numpy.array(values, numpy.int64))
def node(kind, reads, makes, name, **more): return helper.make_node(kind, reads, [makes], name=name, **more)
nodes = [
    node("Relu", ["x"], "a", "/Relu"), node("Exp", ["a"], "b", "/Exp"), node("Shape", ["x"], "s", "/Shape"),
    node("Constant", [], "zero", "/Constant", value=ints(0)), node("Gather", ["s", "zero"], "n", "/Gather"),
    node("Constant", [], "rest", "/Constant_1", value=ints(16, 2, 4)), node("Concat", ["n", "rest"], "to", "/Concat", axis=0),
    node("Reshape", ["b", "to"], "c", "/attn/Reshape"), node("Softmax", ["c"], "y", "/attn/Softmax"),
]
inputs = [helper.make_tensor_value_info("x", 1, ["batch", 16, 8])]
graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])`;

interface Answer extends Record<'nodes' | 'outputs', readonly string[]> {
  readonly problem?: string;
  readonly inputs: readonly { name: string; type: string; isDynamic: boolean; shapes: readonly number[][] }[];
}

function reduce(model: string, node: string, around: number, shapes: readonly object[]): Answer {
  const folder = temporaryFolder();
  const job = { model, output: join(folder, 'cut.onnx'), layers: [[node]], wanted: 0, around, shapes };
  writeFileSync(join(folder, 'job.json'), JSON.stringify(job));
  const script = join(ROOT, 'python', 'reduce_model.py');
  const printed = execFileSync(TEST_PYTHON ?? '', [script, join(folder, 'job.json')], { encoding: 'utf8' });
  return JSON.parse(printed.trim().split('\n').at(-1) ?? '');
}

describe.skipIf(TEST_PYTHON === null)(`python/reduce_model.py (${NEEDS_PYTHON})`, () => {
  test('sizes that are computed from a shape come along, and stay open where the run left them open', () => {
    const model = join(temporaryFolder(), 'reshape.onnx');
    execFileSync(TEST_PYTHON ?? '', ['-c', RESHAPE, model]);
    const batches = [4, 1, 8].map((batch) => ({ x: [batch, 16, 8] }));
    const { inputs, nodes, outputs } = reduce(model, '/attn/Reshape', 0, batches);
    expect(nodes).toEqual(['/Shape', '/Constant', '/Gather', '/Constant_1', '/Concat', '/attn/Reshape']);
    const open = { type: 'float', isDynamic: true, shapes: batches.map(({ x }) => x) };
    expect({ inputs, outputs }).toEqual({ inputs: ['b', 'x'].map((name) => ({ name, ...open })), outputs: ['c'] });
    const fixed = reduce(model, '/attn/Reshape', 1, batches.slice(0, 1)).inputs;
    expect(fixed.map(({ isDynamic }) => isDynamic)).toEqual([false, false]);
    expect(reduce(model, '/attn/Reshape', 1, [{ z: [1] }]).problem).toMatch(/^z: the run has a shape of this input/);
  });

  test('a quantization is never cut in half, and quantized weights are kept', () => {
    const model = join(FIXTURES, 'accuracy', 'vit_tiny_fp8.onnx');
    const { inputs, nodes } = reduce(model, 'blocks.0.mlp.fc1/MatMul', 1, [{ input: [8, 3, 32, 32] }]);
    expect(inputs.map(({ type }) => type)).toEqual(['float16']);
    expect(nodes).toEqual(expect.arrayContaining(['blocks.0.norm2/LayerNorm_out_QuantizeLinear']));
    expect(nodes).toEqual(expect.arrayContaining(['blocks.0.mlp.fc1.weight_DequantizeLinear']));
  });

  test('weights in another file are read; nodes without names are found by their outputs', () => {
    const folder = temporaryFolder();
    for (const name of ['external.onnx', 'external.weights'])
      copyFileSync(join(FIXTURES, 'onnx', name), join(folder, name));
    const sizes = { input_ids: [2, 8], attention_mask: [2, 8, 16] };
    const { inputs } = reduce(join(folder, 'external.onnx'), 'node_of_f', 0, [sizes]);
    expect(inputs.map(({ name, shapes }) => [name, shapes])).toEqual([['e', [[2, 8, 16]]]]);
  });

  test('what onnx knows no shape of cannot be cut there', () => {
    const model = join(FIXTURES, 'onnx', 'control_flow.onnx');
    const line = 'onnx knows no shape of y, where the model would be cut: try another --around';
    expect(reduce(model, 'node_of_y', 0, [{ x: [1, 2, 4], start: [1] }]).problem).toBe(line);
    expect(reduce(join(FIXTURES, 'onnx', 'make_fixtures.py'), 'a', 0, [{}]).problem).toMatch(/onnx cannot reduce it/);
  });
});
