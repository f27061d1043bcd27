import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { unzipSync } from 'fflate';
import { beforeAll, describe, expect, test } from 'vitest';

import { diffLayers } from '../../../src/layers/diff-layers.ts';
import { bench, sharedFolder } from '../../support/bench.ts';
import { OUTPUTS, benchJson } from '../../support/outputs.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';
import { recordedLayers } from '../../support/recorded-layers.ts';
import { FIXTURES, readFixture } from '../../support/recordings.ts';

/** Checks a model as onnx does, and prints the names of its nodes and its inputs with their dimensions. */
const INSPECT = `import json, onnx, sys
onnx.checker.check_model(sys.argv[1], full_check=True)
graph = onnx.load(sys.argv[1]).graph
dims = lambda value: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
print(json.dumps({"nodes": [node.name for node in graph.node], "inputs": {value.name: dims(value) for value in graph.input}}))`;

interface Inspected {
  readonly nodes: readonly string[];
  readonly inputs: Readonly<Record<string, readonly (number | string)[]>>;
}

const PAIRS = {
  opt32: ['pairs/vit_small.fp16/normal/profile', 'pairs/vit_small.fp16/opt32/profile'],
  level2: ['pairs/vit_small.fp16/normal/profile', 'pairs/vit_small.fp16/level2/profile'],
  level0: ['level0/profile/vit_small.fp16.normal', 'level0/profile/vit_small.fp16.level0'],
} as const;

describe.skipIf(TEST_PYTHON === null)(`--reduce (${NEEDS_PYTHON})`, () => {
  const model = join(sharedFolder(), 'vit_small_fp16.onnx');

  beforeAll(() => writeFileSync(model, readFixture('../onnx/vit_small_fp16.onnx.br')));

  async function reduce(pair: keyof typeof PAIRS, ...args: readonly string[]) {
    const cwd = sharedFolder();
    const [base, head] = PAIRS[pair];
    for (const [name, folder] of Object.entries({ good: base, bad: head })) {
      const build = folder.replace(/profile$/, 'build');
      const folders = build === folder ? [folder] : [build, folder];
      const found = await bench(['import', '--sweep', name, ...folders.map((part) => join(FIXTURES, part))], { cwd });
      if (found.code !== 0) throw new Error(found.stderr);
    }
    const bundle = ['repro', 'vit_small', '--bundle', 'bug.zip', '--base', 'good', '--model', model, ...args];
    const env = { BENCH_PYTHON: TEST_PYTHON ?? '' };
    const { code, stderr, json } = await benchJson(OUTPUTS['repro-bundle'], bundle, { cwd, env });
    expect([code, stderr]).toEqual([0, '']);
    for (const [name, bytes] of Object.entries(unzipSync(readFileSync(join(cwd, 'bug.zip'))))) {
      mkdirSync(join(cwd, dirname(name)), { recursive: true });
      writeFileSync(join(cwd, name), bytes);
    }
    const file = join(cwd, 'reduced', 'model.onnx');
    const cut: Inspected = JSON.parse(String(execFileSync(TEST_PYTHON ?? '', ['-c', INSPECT, file])));
    return { cwd, cut, reduced: json.reduced };
  }

  test.each([
    ['level2', 'patch_embed/Conv', 'tactic', 1],
    ['level2', 'head_fc/Gemm_myl3_137', 'tactic', 1],
    ['level0', '__myl_Fc_myl3_89', 'split', 7],
    ['level0', 'blocks.*.attn.proj', 'tactic', 2],
  ] as const)('of %s, %s: a tenth of the nodes, and its layers are whole', async (pair, layer, change, ofLayer) => {
    const { cut, reduced } = await reduce(pair, '--reduce', layer);
    expect(reduced).toMatchObject({ change, nodesBefore: 359, nodesOfLayer: ofLayer, around: 1 });
    expect(cut.nodes).toHaveLength(reduced?.nodesAfter ?? 0);
    expect((reduced?.nodesAfter ?? 359) * 10).toBeLessThanOrEqual(359);
    // The layers of both builds that are wholly in the cut match by origin, with the same change.
    const nodes = new Set(cut.nodes);
    const [base, head] = PAIRS[pair].map((folder) =>
      recordedLayers(folder).filter(({ origins }) => origins.length > 0 && origins.every((name) => nodes.has(name))),
    );
    const parts = diffLayers(base ?? [], head ?? []).parts;
    expect(parts.filter((part) => part.change === 'new' || part.change === 'gone')).toEqual([]);
    const deltaMs = reduced?.deltaMs.toFixed(9);
    const changed = parts.find((part) => part.change === change && part.deltaMs.toFixed(9) === deltaMs);
    expect(new Set(changed?.base.flatMap(({ origins }) => origins)).size).toBe(ofLayer);
    expect(parts.length).toBeGreaterThan(1);
  });

  test('batches stay open, and both commands state how their side was built', async () => {
    const { cut, reduced } = await reduce('level2', '--reduce', 'patch_embed/Conv', '--around', '2');
    expect(cut.inputs).toEqual({ input: ['batch', 3, 224, 224] });
    expect(cut.nodes).toContain('blocks.0.norm1/LayerNorm');
    expect(reduced?.commands.base).toMatch(/--stronglyTyped .*--dumpProfile --separateProfileRun$/);
    expect(reduced?.commands.base).toContain('--minShapes=input:1x3x224x224');
    expect(reduced?.commands.head).toBe(
      reduced?.commands.base.replace('--stronglyTyped ', '--stronglyTyped --builderOptimizationLevel=2 '),
    );
  });

  test('each side has the optimum shape that its own engine was built for', async () => {
    const { reduced } = await reduce('opt32', '--reduce', 'patch_embed/Conv');
    for (const [side, batch] of [['base', 8] as const, ['head', 32] as const]) {
      expect(reduced?.commands[side]).toContain(` --optShapes=input:${batch}x3x224x224 `);
    }
  });

  test('without neighbors it is the layer alone; a layer that names no node is refused', async () => {
    const { cwd, cut } = await reduce('level2', '--reduce', 'patch_embed/Conv', '--around', '0');
    expect(cut.nodes).toEqual(['patch_embed/Conv']);
    const wanted = ['--reduce', 'Reformatting CopyNode for Input Tensor 0', '--bundle', 'b.zip', '--base', 'good'];
    const made = ['--model', model, '--python', TEST_PYTHON ?? ''];
    const stderr = expect.stringMatching(/has none of the ONNX nodes of this layer \(it names none\)\n$/);
    expect(await bench(['repro', 'vit_small', ...wanted, ...made], { cwd })).toMatchObject({ code: 2, stderr });
  });
});
