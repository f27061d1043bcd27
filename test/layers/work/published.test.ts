import { expect, test } from 'vitest';

import { inferShapes } from '../../../src/layers/work/infer-shapes.ts';
import { nodeWork } from '../../../src/layers/work/node-work.ts';
import { readNetwork } from '../../../src/tools/onnx/network.ts';
import { sourceOf } from '../../support/onnx-models.ts';
import { resnet, vit } from '../../support/onnx-networks.ts';

function gigaFlops(bytes: Uint8Array, batch = 1): { matrix: number; other: number } {
  const network = readNetwork(sourceOf(bytes));
  const known = inferShapes(network, { input: [batch, 3, 224, 224] });
  const work = network.nodes.map((node) => nodeWork(node, known));
  expect(work).not.toContain(null);
  return {
    matrix: work.reduce((sum, one) => sum + (one?.matrixFlops ?? 0), 0) / 1e9,
    other: work.reduce((sum, one) => sum + (one?.otherFlops ?? 0), 0) / 1e9,
  };
}

/**
 * torchvision's `_ops` of the same networks, at 224 x 224 (torchvision/models/resnet.py and vision_transformer.py of
 * pytorch/vision): billions of multiplications with their additions, which it calls FLOPS and which are two operations.
 */
test.each([
  ['ResNet-18', 1.814, resnet({ blocks: [2, 2, 2, 2] })],
  ['ResNet-34', 3.664, resnet({ blocks: [3, 4, 6, 3] })],
  ['ResNet-50', 4.089, resnet({ blocks: [3, 4, 6, 3], isBottleneck: true })],
  ['ViT-B/16', 17.564, vit({ dim: 768, heads: 12, depth: 12 })],
])(
  '%s has 2 x %d GFLOP within 0.1 %% in its matrix products, and a hundredth of that in all else',
  (_, macs, bytes) => {
    const { matrix, other } = gigaFlops(bytes);
    expect(matrix / (2 * macs)).toBeGreaterThan(0.999);
    expect(matrix / (2 * macs)).toBeLessThan(1.001);
    expect(other / matrix).toBeLessThan(0.015);
  },
);

test('FLOPs of a batch are those of its images', () => {
  const bytes = vit({ dim: 192, heads: 3, depth: 12 });
  expect(gigaFlops(bytes, 8).matrix).toBeCloseTo(8 * gigaFlops(bytes).matrix, 9);
});
