import { describe, expect, test } from 'vitest';

import { readModel } from '../../../src/tools/onnx/onnx-file.ts';
import { onnxFixture, sourceOf } from '../../support/onnx-models.ts';
import * as writer from '../../support/onnx-writer.ts';

const { bytesField, initializer, model, node, numberField, textField, toBytes, valueInfo } = writer;

function factsOf(name: string) {
  return readModel(sourceOf(onnxFixture(name)));
}

describe('facts of a model', () => {
  test('a graph that comes in pieces is one graph', () => {
    const input = valueInfo(11, 'input', ['batch', 3]);
    const relu = node('Relu', ['input'], 'output');
    const output = valueInfo(12, 'output', ['batch', 3]);
    const whole = readModel(sourceOf(toBytes(model(17, ...input, ...relu, ...output))));
    const cut = [...model(17, ...input), ...bytesField(7, ...relu, ...output)];
    expect(readModel(sourceOf(toBytes(cut)))).toEqual(whole);
    expect(whole).toMatchObject({ inputs: [{ name: 'input' }], outputs: [{ name: 'output' }], nodes: 1 });
  });

  test('a whole network, as the onnx package counts it', () => {
    const { ops, ...facts } = factsOf('vit_tiny.onnx');
    const counts = { nodes: 69, nestedNodes: 0, initializers: 43, inlineBytes: 97_080, externalBytes: 0 };
    const none = {
      quantizeNodes: 0,
      dequantizeNodes: 0,
      quantizedTypes: [],
      customOps: [],
      dataDependentOps: [],
      controlFlowOps: [],
      externalFiles: [],
    };
    expect(facts).toEqual({
      irVersion: 9,
      producer: 'make_models',
      opsets: [{ domain: '', version: 19 }],
      inputs: [{ name: 'input', elementType: 'float32', shape: ['batch', 3, 32, 32] }],
      outputs: [{ name: 'output', elementType: 'float32', shape: ['batch', 10] }],
      ...counts,
      ...none,
      weights: [
        { elementType: 'float32', tensors: 36, bytes: 96_952 },
        { elementType: 'int64', tensors: 7, bytes: 128 },
      ],
    });
    const first = ops.slice(0, 3).map(({ count, domain, opType }) => `${domain}${opType} ${count}`);
    expect(first).toEqual(['Add 15', 'MatMul 12', 'Gather 7']);
    expect(ops.reduce((sum, { count }) => sum + count, 0)).toBe(69);
  });

  test('graphs inside of control flow, functions, operators that need care', () => {
    const facts = factsOf('control_flow.onnx');
    expect(facts).toMatchObject({
      nodes: 4,
      // Constant and NonZero; NonZero; Identity and Add; Add of the function.
      nestedNodes: 6,
      controlFlowOps: ['If', 'Loop'].map((opType) => ({ domain: '', opType, count: 1 })),
      dataDependentOps: [{ domain: '', opType: 'NonZero', count: 2 }],
      customOps: [{ domain: 'vendor.ops', opType: 'MyPlugin_TRT', count: 1 }],
      initializers: 1,
      inlineBytes: 41,
    });
    const shapes = [...facts.inputs, ...facts.outputs].map(({ shape }) => shape);
    expect(shapes).toEqual([['batch', null, 4], [1], [2, 'hits'], [1], null]);
    expect(facts.opsets.map(({ domain, version }) => `${domain} ${version}`).join()).toBe(' 18,local 1,vendor.ops 3');
  });

  test('what is quantized to which type: by zero point, constant, weights, attribute and name', () => {
    const facts = factsOf('quantized.onnx');
    const types = facts.quantizedTypes.map(({ elementType, nodes }) => `${elementType} ${nodes}`);
    expect(types).toEqual(['float8e4m3fn 3', 'int8 2', 'int4 1', 'float8e5m2 1']);
    // 15 weights of four bits, packed.
    expect(facts.weights[0]).toEqual({ elementType: 'int4', tensors: 1, bytes: 8 });
    expect(facts).toMatchObject({ quantizeNodes: 4, dequantizeNodes: 3, customOps: [] });
  });

  test('weights that an old exporter lists among the inputs are no inputs', () => {
    expect(factsOf('old_ir.onnx')).toMatchObject({
      inputs: [{ name: 'x', elementType: 'float32', shape: [null, 4] }],
      initializers: 1,
    });
  });

  test('weights in another file', () => {
    expect(factsOf('external.onnx')).toMatchObject({
      inlineBytes: 0,
      externalBytes: 1536,
      externalFiles: [{ location: 'external.weights', tensors: 3, neededBytes: 1536 }],
    });
  });
});

describe('how a file is read', () => {
  test('values of tensors are jumped over', () => {
    const weights = Array.from({ length: 20 }, (_, i) => initializer(`w${i}`, 500_000)).flat();
    const bytes = toBytes(model(17, ...weights, ...valueInfo(11, 'input', ['batch', 3])));
    const source = sourceOf(bytes);
    const facts = readModel(source);
    expect(facts).toMatchObject({ initializers: 20, inlineBytes: 20_000_000 });
    expect(facts.inputs).toEqual([{ name: 'input', elementType: 'float16', shape: ['batch', 3] }]);
    expect(bytes.length).toBeGreaterThan(20_000_000);
    expect(source.bytesRead()).toBeLessThan(1_500_000);
  });

  test('a name that lies across the end of a window is read whole', () => {
    // A window is 256 KiB; names of 1000 characters meet its end somewhere.
    const names = Array.from({ length: 600 }, (_, i) => `${i}`.padEnd(1000, 'x'));
    const outputs = names.flatMap((name) => valueInfo(12, name, [1]));
    const facts = readModel(sourceOf(toBytes(model(17, ...outputs))));
    expect(facts.outputs.map(({ name }) => name)).toEqual(names);
  });

  test('fields in any order, repeated numbers packed or not, fields that nobody knows', () => {
    const dims = bytesField(1, new Uint8Array([4, 0x80, 0x02]));
    const packed = bytesField(
      5,
      ...textField(8, 'w'),
      ...dims,
      ...numberField(2, 1),
      ...bytesField(9, { zeros: 4096 }),
    );
    const graph = bytesField(7, ...packed, ...node('Relu', ['x'], 'y'), ...textField(99, 'new'));
    const bytes = toBytes([...bytesField(8, ...numberField(2, 20)), ...graph, ...numberField(1, 9)]);
    expect(readModel(sourceOf(bytes))).toMatchObject({
      irVersion: 9,
      opsets: [{ domain: '', version: 20 }],
      inlineBytes: 4 * 256 * 4,
      nodes: 1,
    });
  });

  test('a model as large as in the guide: listing 5', () => {
    const weights = Array.from({ length: 392 }, (_, i) => initializer(`w${i}`, 64)).flat();
    const nodes = Array.from({ length: 2577 }, (_, i) =>
      node(i % 2 === 0 ? 'MatMul' : 'Add', [`t${i}`, `w${i % 392}`], `t${i + 1}`),
    ).flat();
    const ends = [...valueInfo(11, 't0', ['batch', 3, 224, 224]), ...valueInfo(12, 't2577', ['batch', 1000])];
    const pieces = model(17, ...nodes, ...weights, ...ends);
    expect(readModel(sourceOf(toBytes(pieces)))).toMatchObject({
      opsets: [{ domain: '', version: 17 }],
      inputs: [{ name: 't0', elementType: 'float16', shape: ['batch', 3, 224, 224] }],
      nodes: 2577,
      initializers: 392,
      ops: [
        { opType: 'MatMul', count: 1289 },
        { opType: 'Add', count: 1288 },
      ],
    });
  });
});
