import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { readModel } from '../../../src/tools/onnx/onnx-file.ts';
import { OnnxFormatError } from '../../../src/tools/onnx/wire-reader.ts';
import { onnxFixture, sourceOf } from '../../support/onnx-models.ts';
import * as writer from '../../support/onnx-writer.ts';

const { bytesField, model, numberField, textField, toBytes, valueInfo } = writer;

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
    ['a web page', '<!DOCTYPE html>', 'byte 0: a field of a kind that ONNX has not'],
    [
      'a git LFS pointer',
      'version https://git-lfs.github.com/spec/v1\noid sha256:0',
      'a Git LFS pointer, not the model itself: run git lfs pull',
    ],
  ])('%s', (_, text, problem) => {
    expect(problemOf(new TextEncoder().encode(text))).toBe(problem);
  });

  test('another protobuf message', () => {
    expect(problemOf(toBytes(numberField(1, 8)))).toBe('no ONNX model: it has no graph');
  });

  test('random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4096 }), (bytes) => {
        const problem = problemOf(bytes);
        expect(problem === null || /^[ -~]{5,200}$/.test(problem)).toBe(true);
      }),
    );
  });
});

describe('a damaged model', () => {
  test('cut off anywhere: a line, or the facts of what is whole', () => {
    const bytes = onnxFixture('control_flow.onnx');
    const problems = Array.from({ length: bytes.length }, (_, end) => problemOf(bytes.slice(0, end)));
    // The graph is the large field; after it come the opsets and the functions.
    const whole = problems.filter((problem) => problem === null).length;
    expect(whole).toBeLessThan(10);
    expect(problems[300]).toMatch(
      /^byte \d+: a field of \d+ bytes where \d+ are left: the file is cut off, or it is no ONNX model$/,
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
    const endless = new Uint8Array(30).fill(0xff);
    expect(problemOf(endless)).toBe('byte 0: no field of a protobuf message');
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
