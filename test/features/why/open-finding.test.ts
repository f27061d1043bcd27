import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { bench, sharedFolder } from '../../support/bench.ts';
import { storeIn } from '../../support/made-stores.ts';
import { OUTPUTS } from '../../support/outputs.ts';

let folder: string;
let id = '';

const here = (...args: readonly string[]) => bench([...args, '--db', join(folder, 'bench.sqlite')], { cwd: folder });

async function explained(...args: readonly string[]) {
  const { stderr, stdout } = await here('why', ...args, '--json');
  const { base, head } = OUTPUTS.why.parse(JSON.parse(stdout));
  return { stderr, sides: [base, head].map(({ label, sweepIds }) => ({ label, sweepIds })) };
}

beforeAll(async () => {
  folder = sharedFolder();
  await storeIn(folder, 'pairs');
}, 60_000);

test('without a cell and an open finding, two sides are not enough', async () => {
  const { code, stderr } = await here('why', 'latest~1', 'latest');
  expect([code, stderr]).toEqual([2, 'bench: which cell? bench why CELL latest~1 latest; see `bench ls cells`\n']);
});

test('without a cell the only open finding is meant, with its sides or others', async () => {
  const { stdout } = await here('check', '--json');
  id = OUTPUTS.check.parse(JSON.parse(stdout)).findings[0]?.id ?? '';
  const { sides } = await explained(id);
  expect(sides.map(({ label }) => label)).toEqual([
    'vit_small fp16 1x3x224x224 graph transfers',
    'vit_small fp16 1x3x224x224 graph transfers',
  ]);
  const note = `note: the only open finding: ${id.slice(0, 8)}\n`;
  expect(await explained()).toEqual({ sides, stderr: note });
  expect(await explained('latest~1', 'latest')).toEqual({ sides, stderr: note });
});

test('one that is acknowledged is not open', async () => {
  await here('ack', id, '--reason', 'wanted');
  expect((await here('why')).stderr).toContain('there are 2 cells: name one');
});

test.each([
  [['why', 'latest~1', 'latest', 'b8'], 'the cell comes first: bench why b8 latest~1 latest'],
  [['why', 'b8', 'latest'], 'two sides are needed, or none: bench why CELL BASE HEAD'],
  [['layers', '--diff', 'latest~1', 'latest', 'b8'], 'behind the cell: bench layers CELL --diff BASE HEAD'],
  [['layers', 'b8', 'latest~1', 'latest'], '(usage: bench layers [options] [what] [--diff BASE HEAD])'],
  [['compare', 'b8', 'latest~1', 'latest'], '(usage: bench compare [options] [base] [head])'],
])('%j: the line says the order of words', async (args, order) => {
  const { code, stderr } = await here(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(order)]);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});
