import { describe, expect, test } from 'vitest';

import { flopsOf } from '../../../src/layers/work/layer-work.ts';
import { measuredWork } from '../../support/measured-work.ts';
import { onnxNetwork } from '../../support/onnx-models.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';

function gigaFlops(bytes: Uint8Array, batch = 1): number {
  return (flopsOf(measuredWork(bytes, { input: [batch, 3, 224, 224] }).nodes) ?? 0) / 1e9;
}

/**
 * torchvision's `_ops` of the same networks, at 224 x 224 (torchvision/models/resnet.py and vision_transformer.py of
 * pytorch/vision): billions of multiplications with their additions, which it calls FLOPS and which are two operations.
 */
describe.skipIf(TEST_PYTHON === null)(`FLOPs of published networks (${NEEDS_PYTHON})`, () => {
  test.each([
    ['ResNet-18', 1.814, onnxNetwork('resnet18')],
    ['ResNet-34', 3.664, onnxNetwork('resnet34')],
    ['ResNet-50', 4.089, onnxNetwork('resnet50')],
    ['ViT-B/16', 17.564, onnxNetwork('vit_base')],
  ])('%s has 2 x %d GFLOP within 0.1 %% in its matrix products', (_, macs, bytes) => {
    expect(Math.abs(gigaFlops(bytes) / (2 * macs) - 1)).toBeLessThan(0.001);
  });

  test('FLOPs of a batch are those of its images', () => {
    const bytes = onnxNetwork('vit_tiny');
    expect(gigaFlops(bytes, 8)).toBeCloseTo(8 * gigaFlops(bytes), 9);
  });
});
