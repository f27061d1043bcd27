import { describe, expect, test } from 'vitest';

import { buildKinds, kernelDifference } from '../../src/layers/same-kernels.ts';
import type { EngineLayer } from '../../src/layers/layer-info.ts';
import { parseLayerInfo } from '../../src/trtexec/exports/layer-info.ts';
import { readFixture } from '../support/recordings.ts';

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

describe('kinds of builds', () => {
  const normal = layersOf('pairs/vit_small.fp16/normal/build');
  const again = layersOf('pairs/vit_small.fp16/normal2/build');

  test('those with the same kernels are of one kind', () => {
    expect(buildKinds([normal, normal])).toEqual({ kinds: 1, layers: 141, most: null });
    expect(buildKinds([normal, again, normal, again])).toEqual({
      kinds: 2,
      layers: 141,
      most: { layers: [141, 141], otherKernels: 13 },
    });
  });

  test('other layers weigh more than other kernels', () => {
    const level0 = layersOf('level0/profile/vit_small.fp16.level0');
    expect(buildKinds([normal, again, level0])).toMatchObject({ kinds: 3, most: { otherKernels: null } });
  });

  test('are not known when one build does not tell its kernels', () => {
    const names = normal.map((layer) => ({ ...layer, tactic: null }));
    expect(buildKinds([normal, names])).toBeNull();
    expect(buildKinds([normal, null])).toBeNull();
    expect(buildKinds([])).toBeNull();
  });
});
