import { describe, expect, test } from 'vitest';

import { kernelDifference } from '../../../src/analyse/layers/same-kernels.ts';
import type { EngineLayer } from '../../../src/domain/layer-info.ts';
import { parseLayerInfo } from '../../../src/parse/exports/layer-info.ts';
import { readFixture } from '../../support/recordings.ts';

function layersOf(folder: string): readonly EngineLayer[] {
  return parseLayerInfo(readFixture(`${folder}/layers.json.br`).toString('utf8')).layers;
}

describe('two recorded builds of vit_small fp16', () => {
  test('of the same flags: 13 of 141 kernels are others', () => {
    const normal = layersOf('pairs/vit_small.fp16/normal/build');
    const again = layersOf('pairs/vit_small.fp16/normal2/build');
    expect(kernelDifference(normal, again)).toEqual({ layers: [141, 141], otherKernels: 13 });
    expect(kernelDifference(normal, normal)).toBeNull();
  });

  test('at optimization level 0 the layers are others', () => {
    const normal = layersOf('level0/profile/vit_small.fp16.normal');
    const level0 = layersOf('level0/profile/vit_small.fp16.level0');
    const found = kernelDifference(normal, level0);
    expect(found).toEqual({ layers: [normal.length, level0.length], otherKernels: null });
    expect(normal.length).not.toBe(level0.length);
  });
});
