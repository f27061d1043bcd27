import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type * as z from 'zod';
import { beforeAll, describe, expect, test } from 'vitest';

import { obstacleOf } from '../../../src/judge/compare/differences.ts';
import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { benchJson, OUTPUTS } from '../../support/outputs.ts';

const MATRIX = join(ROOT, 'matrices', 'two-gpus.yaml');

const compare = (folder: string, base: string, head: string, ...args: string[]) =>
  benchJson(OUTPUTS.compare, ['compare', base, head, ...args], { cwd: folder });

const changes = ({ cells }: z.infer<typeof OUTPUTS.compare>) =>
  cells.map(({ label, verdict, changePercent }) => [label, verdict, Number(changePercent?.toFixed(2))]);

describe('the same engines of an H100 and of an H200', () => {
  const folder = sharedFolder();
  const checked: string[] = [];

  beforeAll(async () => {
    for (const set of ['h100', 'h200', 'h200']) {
      await bench(['run', MATRIX, '--replay', set], { cwd: folder });
      checked.push((await bench(['check'], { cwd: folder })).stdout.split('\n')[0] ?? '');
    }
  }, 60_000);

  test('bench check: another GPU is a series of its own', () => {
    const first = 'first sweep: nothing to compare with';
    const onH200 = 'two-gpus · no branch · NVIDIA H200';
    expect(checked).toEqual([first, `${onH200}: ${first}`, `${onH200}: nothing slower`]);
  });

  test('are not compared, and the option that compares them is named; bench why names the GPU', async () => {
    const { stdout } = await bench(['why', '2a87b4a2', 'latest~2', 'latest~1'], { cwd: folder });
    expect(stdout).toContain('1. environment: GPU NVIDIA H100 80GB HBM3 → NVIDIA H200\n');
    const { code, json } = await compare(folder, 'latest~2', 'latest~1');
    expect([code, json.counts]).toMatchObject([4, { incomparable: 4, slower: 0, faster: 0 }]);
    const text = 'GPU NVIDIA H100 80GB HBM3 → NVIDIA H200: compare them anyway with --across-gpu';
    expect((await bench(['compare', 'latest~2', 'latest~1'], { cwd: folder })).stdout).toContain(text);
    const two = obstacleOf([
      ['acrossProvenance', 'base is imported'],
      ['acrossGpu', 'GPU A → B'],
    ]);
    expect(two).toBe('base is imported; GPU A → B: compare them anyway with --across-provenance --across-gpu');
  });

  test('--across-gpu compares them: medians of the logs, and the GPU as the likeliest cause', async () => {
    const { json } = await compare(folder, 'latest~2', 'latest~1', '--across-gpu');
    // From the GPU compute medians that the logs print, by Python: resnet of batch 8 is
    // sqrt(.221146 x .221313) / sqrt(.208618 x .208832) - 1.
    expect(changes(json)).toEqual([
      ['resnet fp16 (flag) 8x3x224x224 graph', 'slower', 5.99],
      ['resnet fp16 (flag) 1x3x224x224 graph', 'slower', 2.92],
      ['vit fp16 (flag) 8x3x224x224 graph', 'slower', 1.62],
      ['vit fp16 (flag) 1x3x224x224 graph', 'unclear', -0.17],
    ]);
    const { stdout } = await bench(['compare', 'latest~2', 'latest~1', '--across-gpu'], { cwd: folder });
    expect(stdout).toContain('compared anyway: GPU NVIDIA H100 80GB HBM3 → NVIDIA H200\n');
    expect(stdout).toContain('environment: GPU NVIDIA H100 80GB HBM3 → NVIDIA H200 (possible)');
  });
});

test('an engine of builder level 0 on an H100: its size, and other tactics as the first cause', async () => {
  const folder = sharedFolder();
  for (const level of [3, 0]) {
    const path = join(folder, `level${level}.yaml`);
    const axes = 'axes: { batch: [1, 8, 32] }';
    writeFileSync(path, `extends: ${MATRIX}\n${axes}\nbuild: { optimizationLevel: ${level} }\n`);
    const { code, stderr } = await bench(['run', path, '--filter', 'model=resnet'], { cwd: folder });
    expect([code, stderr.includes('bench: ')]).toEqual([0, false]);
  }
  expect(changes((await compare(folder, 'latest~1', 'latest')).json)).toEqual([
    ['resnet fp16 (flag) 1x3x224x224 graph', 'slower', 219.17],
    ['resnet fp16 (flag) 8x3x224x224 graph', 'slower', 186.37],
    ['resnet fp16 (flag) 32x3x224x224 graph', 'slower', 146.39],
  ]);
  const profiled = ['--profile', '--filter', 'model=resnet & batch=8'];
  for (const level of [3, 0]) await bench(['run', `level${level}.yaml`, ...profiled], { cwd: folder });
  const { stdout } = await bench(['why', '2a87b4a2', 'latest~1', 'latest', '--json'], { cwd: folder });
  const { causes }: { causes: readonly { kind: string; certainty: string; title: string }[] } = JSON.parse(stdout);
  const expected = { kind: 'tactics', certainty: 'shown', title: 'other tactics in 17 layers: layer*.*.conv1/Conv' };
  expect(causes[0]).toMatchObject(expected);
}, 60_000);
