import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { readModel } from '../../../src/tools/onnx/onnx-file.ts';
import { OnnxFormatError } from '../../../src/tools/onnx/wire-reader.ts';
import { onnxFixture, sourceOf } from '../../support/onnx-models.ts';
import * as writer from '../../support/onnx-writer.ts';

const { bytesField, initializer, model, node, numberField, textField, toBytes, valueInfo } = writer;

const factsOf = (name: string) => readModel(sourceOf(onnxFixture(name)));

describe('facts of a model', () => {
  test('a graph that comes in pieces is one graph', () => {
    const input = valueInfo(11, 'input', ['batch', 3]);
    const relu = node('Relu', ['input'], 'output');
    const output = valueInfo(12, 'output', ['batch', 3]);
    const whole = readModel(sourceOf(toBytes(model(17, ...input, ...relu, ...output))));
    expect(readModel(sourceOf(toBytes([...model(17, ...input), ...bytesField(7, ...relu, ...output)])))).toEqual(whole);
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
    expect([first, ops.reduce((sum, { count }) => sum + count, 0)]).toEqual([['Add 15', 'MatMul 12', 'Gather 7'], 69]);
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
    const inputs = [{ name: 'x', elementType: 'float32', shape: [null, 4] }];
    expect(factsOf('old_ir.onnx')).toMatchObject({ inputs, initializers: 1 });
  });

  test('weights in another file', () => {
    const externalFiles = [{ location: 'external.weights', tensors: 3, neededBytes: 1536 }];
    expect(factsOf('external.onnx')).toMatchObject({ inlineBytes: 0, externalBytes: 1536, externalFiles });
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

  test('a model as large as in the guide: listing 5', () => {
    const weights = Array.from({ length: 392 }, (_, i) => initializer(`w${i}`, 64)).flat();
    const nodes = Array.from({ length: 2577 }, (_, i) =>
      node(i % 2 === 0 ? 'MatMul' : 'Add', [`t${i}`, `w${i % 392}`], `t${i + 1}`),
    ).flat();
    const ends = [...valueInfo(11, 't0', ['batch', 3, 224, 224]), ...valueInfo(12, 't2577', ['batch', 1000])];
    expect(readModel(sourceOf(toBytes(model(17, ...nodes, ...weights, ...ends))))).toMatchObject({
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

const MODELS = ['mlp_tiny', 'resnet_tiny', 'vit_tiny', 'control_flow', 'quantized', 'old_ir', 'external'];

/** What is said of the bytes; null when they are a model. Anything but an OnnxFormatError is a bug. */
function problemOf(bytes: Uint8Array): string | null {
  try {
    readModel(sourceOf(bytes));
    return null;
  } catch (error) {
    if (error instanceof OnnxFormatError) return error.message;
    throw error;
  }
}

describe('what is no ONNX model', () => {
  test.each([
    ['nothing', '', 'the file is empty'],
    ['text', 'a model', 'byte 0: no field of a protobuf message'],
    ['another protobuf message', '\b\b', 'not an ONNX model: it has no graph'],
    ['a web page', '<!DOCTYPE html>', 'byte 0: a field type that ONNX does not have'],
    [
      'a git LFS pointer',
      'version https://git-lfs.github.com/spec/v1\noid sha256:0',
      'a Git LFS pointer, not the model itself: run git lfs pull',
    ],
  ])('%s', (_, text, problem) => expect(problemOf(new TextEncoder().encode(text))).toBe(problem));
});

describe('a damaged model', () => {
  test('cut off anywhere: a line, or the facts of what is whole', () => {
    const bytes = onnxFixture('control_flow.onnx');
    const problems = Array.from({ length: bytes.length }, (_, end) => problemOf(bytes.slice(0, end)));
    // The graph is the large field; after it come the opsets and the functions.
    expect(problems.filter((problem) => problem === null).length).toBeLessThan(10);
    expect(problems[300]).toMatch(
      /^byte \d+: a field of \d+ bytes where \d+ are left: the file is cut off, or it is not an ONNX model$/,
    );
  });

  test('bytes changed anywhere', () => {
    const models = MODELS.map((name) => onnxFixture(`${name}.onnx`));
    fc.assert(
      fc.property(
        fc.nat(models.length - 1),
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { minLength: 1, maxLength: 12 }),
        (which, changes) => {
          const bytes = Uint8Array.from(models[which] ?? []);
          // Where messages begin and end is at the start and at the end, not among the weights.
          for (const [place, value] of changes) {
            const near = Math.floor(place * Math.min(1000, bytes.length - 1));
            bytes[value % 2 === 0 ? near : bytes.length - 1 - near] = value;
          }
          const problem = problemOf(bytes);
          expect(problem === null || problem.length < 300).toBe(true);
        },
      ),
      { numRuns: 600 },
    );
  });

  test('lengths beyond the file, up to the largest that can be written', () => {
    const huge = new Uint8Array([0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2]);
    expect(problemOf(huge)).toMatch(/^byte 0: a field of 9\d+ bytes where 2 are left/);
    expect(problemOf(new Uint8Array(30).fill(0xff))).toBe('byte 0: no field of a protobuf message');
  });

  test('graphs inside of graphs, deeper than anyone builds them', () => {
    let graph: writer.Piece[] = [];
    for (let depth = 0; depth < 200; depth += 1) {
      graph = bytesField(1, ...bytesField(5, ...bytesField(6, ...graph)));
    }
    expect(problemOf(toBytes(model(17, ...graph)))).toMatch(/^byte \d+: more than 100 messages inside each other$/);
  });

  test('a name of a megabyte, a shape of a million dimensions, and an input of two thousand', () => {
    const name = bytesField(11, ...textField(1, 'x'.repeat(1 << 20)));
    expect(problemOf(toBytes(model(17, ...name)))).toMatch(/^byte \d+: a name of 1048576 bytes$/);
    const dims = bytesField(5, ...bytesField(1, { zeros: 1_000_000 }));
    expect(problemOf(toBytes(model(17, ...dims)))).toMatch(/^byte \d+: more than 1024 dimensions$/);
    const ones = Array.from({ length: 2000 }, () => 1);
    expect(problemOf(toBytes(model(17, ...valueInfo(11, 'x', ones))))).toBe('a shape of more than 1024 dimensions');
  });

  test('sizes whose product no number holds', () => {
    const dims = Array.from({ length: 40 }, () => numberField(1, 2 ** 50)).flat();
    const tensor = bytesField(5, ...dims, ...numberField(2, 1), ...textField(8, 'w'));
    expect(problemOf(toBytes(model(17, ...tensor)))).toMatch(/more bytes than there are/);
  });
});
