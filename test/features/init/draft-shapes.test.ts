import { describe, expect, test } from 'vitest';

import { draftShapes, guessSize } from '../../../src/features/init/draft.ts';
import type { OnnxDimension, OnnxTensorInfo } from '../../../src/tools/onnx/facts.ts';

function input(name: string, shape: readonly OnnxDimension[] | null, elementType = 'float32'): OnnxTensorInfo {
  return { name, elementType, shape };
}

describe('a size for an open dimension', () => {
  test.each([
    ['batch', 0, [1, 8, 32], 1, 8, 32],
    ['N', 0, [1, 8, 32], 1, 8, 32],
    [null, 0, [1, 8, 32], 1, 8, 32],
    ['anything', 0, [1, 8, 32], 1, 8, 32],
    ['sequence_length', 1, [128], 1, 128, 512],
    ['height', 2, [256], 128, 256, 512],
    ['past_sequence_length', 2, [128], 1, 128, 512],
    ['past_sequence_length + sequence_length', 1, [256], 2, 256, 1024],
    ['sequence_length + 1', 1, [129], 2, 129, 513],
    ['unk__17', 1, [16], 1, 16, 64],
    [null, 3, [16], 1, 16, 64],
    // No batch: a second dimension of that name would be one, a first of a telling name is not.
    ['seq', 0, [128], 1, 128, 512],
  ])('%s in place %i', (name, place, values, min, opt, max) => {
    expect(guessSize(name, place)).toMatchObject({ values, min, opt, max });
  });
});

describe('shapes of a model', () => {
  test('dimensions of the same name are one axis, those without a name each their own', () => {
    const drafted = draftShapes([
      input('ids', ['batch', 'seq']),
      input('mask', ['batch', 'seq', null]),
      input('other', [null, 4, null]),
      input('fixed', [1, 3]),
    ]);
    // The only name that first dimensions have is meant here too.
    const other = ['batch', 4, 'other_dim2'];
    expect(drafted).toMatchObject({
      shapes: { ids: ['batch', 'seq'], mask: ['batch', 'seq', 'mask_dim2'], other },
      dimensions: ['batch', 'seq', 'mask_dim2', 'other_dim2'].map((name) => ({ name })),
    });
  });

  test('names that mean something else in a matrix get another one, and no two the same', () => {
    const drafted = draftShapes([input('x', ['streams', 'model', 'a-b', 'a.b', '+', '3d'])]);
    expect(typeof drafted === 'string' ? drafted : drafted.shapes).toEqual({
      x: ['streams_dim', 'model_dim', 'a_b', 'a_b_2', expect.stringMatching(/^dim\d$/), '_3d'],
    });
  });

  test('a model without open dimensions needs none', () => {
    expect(draftShapes([input('x', [1, 3]), input('scalar', [])])).toEqual({ shapes: null, dimensions: [] });
  });

  test.each([
    [input('x', null), 'does not say how many dimensions input x has'],
    [input('x', ['batch'], 'sequence'), 'is no tensor but a sequence'],
    [input('x', ['batch'], 'string'), 'holds texts'],
    [input('a,b', ['batch']), 'a comma, a quote or a space'],
  ])('%j cannot be stated', (stated, problem) => {
    expect(draftShapes([stated])).toContain(problem);
  });
});
