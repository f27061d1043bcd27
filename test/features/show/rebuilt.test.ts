import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../../support/bench.ts';

const [PAIR, OPT32] = ['quickstart-pair', 'quickstart-pair-opt32'].map((name) =>
  join(ROOT, 'matrices', `${name}.yaml`),
);

test('a sweep says how many layers a new engine changed, and what that cost; a build that chose the same says nothing', async () => {
  const cwd = temporaryFolder();
  const type = async (...words: string[]) => (await bench(words, { cwd, env: { COLUMNS: '200' } })).stdout;
  const rebuilt = async (...words: string[]) => JSON.parse(await type(...words, '--json')).rebuilt;
  expect(await rebuilt('run', PAIR ?? '')).toEqual([]);
  const text = await type('run', OPT32 ?? '');
  const [found, ...others] = await rebuilt('show', 'latest');
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    model: 'vit_small',
    precision: 'fp16',
    isSameInputs: false,
    layersChanged: 49,
    layers: 141,
    cells: 2,
  });
  expect(found.changePercent).toBeCloseTo(20.774, 2);
  const [base, head] = [found.base.slice(0, 8), found.head.slice(0, 8)];
  expect(text).toContain(
    `  vit_small fp16 was built from other inputs: 49 of 141 layers have other tactics or fusions, GPU compute +20.8 % since the previous sweep\n    → bench layers --diff ${base} ${head}\n`,
  );
  // What is suggested works: two builds, of no cell.
  const otherTactics = async (...sides: string[]): Promise<number> => {
    const { rows } = JSON.parse(await type('layers', '--diff', ...sides, '--json'));
    const tactics = rows.filter(({ change }: { change: string }) => change === 'tactic');
    return tactics.reduce((sum: number, { headLayers }: { headLayers: number }) => sum + headLayers, 0);
  };
  expect(await otherTactics(base, head)).toBe(49);
  const { engines } = JSON.parse(await type('ls', 'engines', '--json'));
  const keys = engines.map(({ key }: { key: string }) => key.slice(0, 8));
  expect([keys.length, await otherTactics(...keys)]).toEqual([2, 49]);
}, 60_000);
