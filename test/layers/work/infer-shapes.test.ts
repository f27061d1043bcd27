import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { inferShapes } from '../../../src/layers/work/infer-shapes.ts';
import { readNetwork } from '../../../src/tools/onnx/network.ts';
import { onnxFixture, sourceOf } from '../../support/onnx-models.ts';
import { model, node, toBytes, valueInfo } from '../../support/onnx-writer.ts';

test.each(['vit_tiny.onnx', 'resnet_tiny.onnx', 'mlp_tiny.onnx'])(
  'every shape of %s is that which the onnx package wrote into the file',
  (name) => {
    const network = readNetwork(sourceOf(onnxFixture(name)));
    const [[input = '', { shape = [] }] = ['', {}]] = [...network.inputs];
    const given = (shape ?? []).map((size) => (typeof size === 'number' ? size : 3));
    const known = inferShapes({ ...network, stated: new Map() }, { [input]: given });
    expect(network.stated.size).toBeGreaterThanOrEqual(network.nodes.length);
    for (const [tensor, { elementType, shape: sizes }] of network.stated) {
      const found = known.get(tensor);
      // A dimension that onnx could not tell has a made-up name.
      const stated = sizes?.map((size, axis) =>
        size === 'batch' ? 3 : typeof size === 'string' ? found?.shape[axis] : size,
      );
      expect([tensor, found?.elementType, found?.shape]).toEqual([tensor, elementType, stated]);
    }
  },
);

test('what no rule gives is taken from the file, where its dimensions are those of the inputs', () => {
  const graph = [
    ...valueInfo(11, 'x', ['batch', 'length']),
    ...node('NonZero', ['x'], 'places'),
    ...node('MyOp', ['x'], 'y'),
    ...node('Relu', ['y'], 'z'),
    ...valueInfo(13, 'places', [2, 'found']),
    ...valueInfo(13, 'y', ['batch', 'length', 4]),
    ...valueInfo(12, 'z', ['batch', 'length', 4]),
  ];
  const known = inferShapes(readNetwork(sourceOf(toBytes(model(19, ...graph)))), { x: [2, 5] });
  expect(['x', 'y', 'z', 'places'].map((name) => known.get(name)?.shape)).toEqual([
    [2, 5],
    [2, 5, 4],
    [2, 5, 4],
    undefined,
  ]);
});

test('of inputs that are not given nothing is known', () => {
  const network = readNetwork(sourceOf(readFileSync('test/fixtures/onnx/mlp_tiny.onnx')));
  const known = inferShapes({ ...network, stated: new Map() }, {});
  expect(network.nodes.flatMap(({ outputs }) => outputs).filter((name) => known.has(name))).toEqual([]);
});
