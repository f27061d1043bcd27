import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type ChangeRow, changeRows, diffLayers, type LayersDiff } from '../../src/layers/diff-layers.ts';
import type { LayerFacts } from '../../src/layers/layer-facts.ts';
import { recordedLayers } from '../support/recorded-layers.ts';
import { sumMs } from '../../src/layers/real-precision.ts';

const NORMAL = recordedLayers('pairs/vit_small.fp16/normal/profile');
const PROFILES = [
  'pairs/vit_small.fp16/normal/profile',
  'pairs/vit_small.fp16/opt32/profile',
  'level0/profile/vit_small.fp16.normal',
  'nights/1-profile/vit_small.fp8.b8',
  'nights/1-profile/resnet_small.fp16.b8',
  'nights/1-profile/resnet_small.int8.b8',
];

const causes = (diff: LayersDiff): ChangeRow[] => changeRows(diff).rows.filter(({ isCause }) => isCause);

const short = ({ change, label, baseLayers, headLayers, deltaMs }: ChangeRow): string =>
  `${change} ${baseLayers}→${headLayers} ${label} ${deltaMs.toFixed(4)}`;

describe('recorded pairs: what their README says is true of them', () => {
  test('level2: one layer got slower, two more kinds only changed their kernels', () => {
    const diff = diffLayers(NORMAL, recordedLayers('pairs/vit_small.fp16/level2/profile'));
    expect(causes(diff).map(short)).toEqual(['tactic 1→1 patch_embed/Conv 0.0090']);
    expect(changeRows(diff).rows.map(short)).toEqual([
      'tactic 1→1 patch_embed/Conv 0.0090',
      'tactic 12→12 blocks.*.mlp.fc2: Add, MatMul 0.0012',
      'tactic 12→12 blocks.*.attn.qkv: Add, MatMul -0.0005',
      'tactic 1→1 head.fc/Gemm 0.0001',
    ]);
    expect(changeRows(diff).rows[0]?.detail).toBe('tile 128x16x64 → 128x32x64');
  });

  test('level0: 141 layers became 153, fc1 lost its GELU, norm and attention did not change', () => {
    const diff = diffLayers(
      recordedLayers('level0/profile/vit_small.fp16.normal'),
      recordedLayers('level0/profile/vit_small.fp16.level0'),
    );
    expect(causes(diff).slice(0, 3).map(short)).toEqual([
      'split 12→24 blocks.*.mlp.fc1: Add, MatMul + blocks.*.mlp/Gelu: AddOne, Div, Erf, Half, Mul 0.3109',
      'tactic 12→12 blocks.*.attn.qkv: Add, MatMul 0.2780',
      'tactic 12→12 blocks.*.attn.proj: Add, MatMul 0.2686',
    ]);
    expect(changeRows(diff).rows[0]?.detail).toBe('__myl_Fc → 2 layers: MatMul, __myl_DivCasErfCasAddMulMul');
    expect(
      causes(diff)
        .map(({ label }) => label)
        .filter((label) => /LayerNorm|Softmax/.test(label)),
    ).toEqual([]);
    expect(changeRows(diff).unattributed).toBeNull();
  });

  test.each(['vit_small', 'vit_base'])('%s FP8: the fused attention was lost', (model) => {
    const diff = diffLayers(
      recordedLayers(`nights/1-profile/${model}.fp16.b8`),
      recordedLayers(`nights/1-profile/${model}.fp8.b8`),
    );
    const [first] = causes(diff);
    expect(first).toMatchObject({ change: 'split', baseLayers: 12, headLayers: 48 });
    expect(first?.label).toBe('blocks.*.attn: AV, QK, Scale, Softmax');
    expect(first?.detail).toMatch(/^_gemm_mha_v2 → 4 layers: QK, /);
    expect((first?.deltaMs ?? 0) / diff.deltaMs).toBeGreaterThan(0.5);
  });
});

describe('the parts of a difference', () => {
  test.each(PROFILES)('%s against itself: nothing changed', (folder) => {
    const layers = recordedLayers(folder);
    const diff = diffLayers(layers, recordedLayers(folder));
    expect(diff.parts.map(({ change }) => change)).toEqual(layers.map(() => 'same'));
    expect(diff.deltaMs).toBe(0);
  });

  test('add up to the whole between any two profiles, each layer in one of them', () => {
    for (const a of PROFILES) {
      for (const b of PROFILES) {
        const [base, head] = [recordedLayers(a), recordedLayers(b)];
        const { rows, unknown, unchanged, unattributed } = changeRows(diffLayers(base, head));
        const all = [...rows, unknown, unchanged, unattributed].filter((row) => row !== null);
        expect(all.reduce((total, { deltaMs }) => total + deltaMs, 0)).toBeCloseTo(sumMs(head) - sumMs(base), 9);
        expect(all.reduce((total, { baseLayers }) => total + baseLayers, 0)).toBe(base.length);
        expect(all.reduce((total, { headLayers }) => total + headLayers, 0)).toBe(head.length);
      }
    }
  });

  test('a layer with the same tactic is a cause if its time alone changed by a tenth, and beyond the timer', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(NORMAL.length - 1), fc.double({ min: 1.05, max: 20, noNaN: true })), {
          minLength: 1,
          maxLength: 12,
        }),
        (slowed) => {
          const factors = new Map(slowed);
          const head = NORMAL.map((layer, index) => ({
            ...layer,
            averageMs: layer.averageMs * (factors.get(index) ?? 1),
          }));
          const grewBy = (index: number): number => (factors.get(index) ?? 1) - 1;
          const slower = NORMAL.filter((layer, at) => grewBy(at) >= 0.1 && grewBy(at) * layer.averageMs >= 0.003);
          const found = causes(diffLayers(NORMAL, head)).flatMap(({ parts }) => parts.flatMap(({ base }) => base));
          expect(new Set(found)).toEqual(new Set(slower));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('names without kernels: nothing is called a cause, nor the same, nor a clock', () => {
    const namesOnly = (layers: readonly LayerFacts[]): LayerFacts[] =>
      layers.map((layer) => ({ ...layer, type: null, tactic: null }));
    const diff = diffLayers(namesOnly(NORMAL), namesOnly(recordedLayers('pairs/vit_small.fp16/opt32/profile')));
    expect([causes(diff), diff.commonPercent]).toEqual([[], null]);
    expect(changeRows(diff)).toMatchObject({ unchanged: null, unknown: { headLayers: 141 } });
  });

  test('a fused FP16 convolution that became two kernels in FP8 is a lost fusion, not a new layer', () => {
    const diff = diffLayers(
      recordedLayers('nights/1-profile/resnet_small.fp16.b8'),
      recordedLayers('nights/1-profile/resnet_small.fp8.b8'),
    );
    const row = causes(diff).find(({ change, label }) => change === 'split' && label.includes('conv2/Conv'));
    expect([row?.baseLayers, row?.headLayers]).toEqual([5, 10]);
    const news = causes(diff).filter(({ change }) => change === 'new');
    expect(news.filter(({ label }) => label.includes('conv2'))).toEqual([]);
  });

  test('layers that all got slower alike are told as such', () => {
    const head = NORMAL.map((layer) => ({ ...layer, averageMs: layer.averageMs * 1.2 }));
    expect(diffLayers(NORMAL, head).commonPercent).toBeCloseTo(20, 6);
  });
});

describe('what a row says of its layers', () => {
  const conv = NORMAL.find(({ nodes }) => nodes.some((node) => node.includes('patch_embed')));

  /** Layers of one block each, with a kernel and a time. Made up of a recorded one. */
  function blocks(kernels: readonly (readonly [tactic: string, ms: number])[]): LayerFacts[] {
    if (conv === undefined) throw new Error('the recording has a convolution');
    return kernels.map(([tactic, averageMs], index) => {
      const node = `blocks.${index}.mlp.fc2/MatMul`;
      return { ...conv, index, name: node, stableName: node, nodes: [node], origins: [node], tactic, averageMs };
    });
  }

  test('the kernel is the one that costs, not the commonest', () => {
    const kernel = (tile: string): string => `sm90_xmma_gemm_f16f16_f16f32_f32_tilesize${tile}_a`;
    const was = kernel('64x64x64');
    const [small, large] = [kernel('64x128x64'), kernel('256x64x32')];
    const diff = diffLayers(
      blocks(Array.from({ length: 3 }, () => [was, 0.02])),
      blocks([
        [small, 0.021],
        [large, 0.03],
        [large, 0.027],
      ]).map((layer) => ({ ...layer, inputs: [{ name: '', dimensions: [], type: 'fp16', format: 'Row major' }] })),
    );
    const [row] = changeRows(diff).rows;
    expect(row?.label).toBe('blocks.*.mlp.fc2/MatMul');
    expect(row?.detail).toMatch(/^tile 64x64x64 → 256x64x32, inputs: Channel major .* → Row major \(2 of 3\)$/);
  });

  test.each([
    [[0.77, 0.5, 0.5], ['blocks.0.mlp.fc2/MatMul 0.5→0.77 true']],
    [[0.5, 0.4], ['blocks.1.mlp.fc2/MatMul 0.5→0.4 true']],
    [[0.6, 0.61, 0.6], []],
    [[0.6, 0.6], []],
  ])('of 0.5 ms layers with the same kernel, those of %j ms', (times, named) => {
    const before = blocks(times.map(() => ['a', 0.5]));
    const { rows } = changeRows(diffLayers(before, blocks(times.map((ms) => ['a', ms]))));
    expect(rows.map(({ label, baseMs, headMs, isCause }) => `${label} ${baseMs}→${headMs} ${isCause}`)).toEqual(named);
  });

  test('a cast that a tool added and one without a name are the same work', () => {
    const [first, ...others] = NORMAL;
    if (first === undefined) throw new Error('the recording has layers');
    const cast = { ...first, nodes: [], kind: 'cast' as const, tactic: null, averageMs: 0.009 };
    const unnamed = { ...cast, name: '__myl_Cas_myl0_0', stableName: '__myl_Cas', origins: [] };
    const name = 'input_cast_to_fp16';
    const added = { ...cast, kind: 'compute' as const, name, stableName: name, origins: [name] };
    const diff = diffLayers([unnamed, ...others], [added, ...others]);
    expect(diff.parts.filter(({ change }) => change === 'new' || change === 'gone')).toEqual([]);
    const slower = diffLayers([unnamed], [{ ...unnamed, averageMs: 0.5 }]);
    expect(changeRows(slower).rows.map(({ label }) => label)).toEqual(['__myl_Cas']);
  });
});
