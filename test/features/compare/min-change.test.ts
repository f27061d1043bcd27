import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../../support/bench.ts';

const MATRICES = join(ROOT, 'matrices');

let cwd: string;

/** Two sweeps: the engine of the second is tuned for batch 32, which costs the small batches. */
beforeAll(async () => {
  cwd = sharedFolder();
  await bench(['run', join(MATRICES, 'quickstart-pair.yaml')], { cwd });
  const gate = 'gate: {minChange: [{percent: 90%}, {filter: batch=8, percent: 1%}]}';
  writeFileSync(
    join(cwd, 'opt32.yaml'),
    `name: quickstart-pair\nextends: ${join(MATRICES, 'quickstart-pair-opt32.yaml')}\n${gate}\n`,
  );
  await bench(['run', 'opt32.yaml'], { cwd });
}, 60_000);

async function compared(...args: readonly string[]) {
  const { code, stdout } = await bench(['compare', 'latest~1', 'latest', ...args, '--json'], { cwd });
  const { cells }: { cells: { verdict: string; changePercent: number; belowMinChange?: number }[] } =
    JSON.parse(stdout);
  return { code, cells: cells.map(({ verdict, belowMinChange }) => [verdict, belowMinChange]) };
}

test('a change under the smallest one keeps its verdict, and has no exit code', async () => {
  expect(await compared('--min-change', '50%')).toEqual({
    code: 0,
    cells: [
      ['slower', 50],
      ['slower', 50],
    ],
  });
  expect(await compared('--min-change', '17')).toEqual({
    code: 1,
    cells: [
      ['slower', undefined],
      ['slower', 17],
    ],
  });
});

test('without the option it is that of the matrix, cell by cell', async () => {
  expect(await compared()).toEqual({
    code: 1,
    cells: [
      ['slower', 90],
      ['slower', undefined],
    ],
  });
  expect((await compared('--filter', 'batch=1')).code).toBe(0);
});

test('the first line counts them apart', async () => {
  const { stdout } = await bench(['compare', 'latest~1', 'latest'], { cwd });
  expect(stdout).toMatch(
    /^2 slower, 0 faster; 1 of them under the smallest change of 90\.0 %: no exit code · GPU compute/,
  );
  const one = await bench(['compare', 'latest~1', 'latest', '--filter', 'batch=1'], { cwd });
  expect(one.stdout).toContain('95 %), under the smallest change of 90.0 %');
});
