import { beforeAll, expect, test } from 'vitest';

import { namedCell } from '../../src/selection/cell-points.ts';
import { shortNames } from '../../src/terminal/cell-columns.ts';
import { bench } from '../support/bench.ts';
import { imageCell } from '../support/image-cell.ts';
import { sharedStore } from '../support/made-stores.ts';
import { jsonOf, OUTPUTS } from '../support/outputs.ts';

const WIDE = { COLUMNS: '200' };

let db = '';
beforeAll(async () => {
  db = await sharedStore('nights');
});

const inStore = (...args: string[]) => bench([...args, '--db', db], { env: WIDE });

/** The words of each row that begins with a model or has one behind a first column. */
async function rowsOf(...args: string[]): Promise<string[][]> {
  return (await inStore(...args)).stdout.split('\n').flatMap((line) => {
    const [, words] = /\b(vit_\w+\s+fp\d+\s+b\d+\s+(?:no-)?graph)\b/.exec(line) ?? [];
    return words === undefined ? [] : [words.split(/\s+/)];
  });
}

const trendOf = async (...words: string[]): Promise<string[]> =>
  (await jsonOf(OUTPUTS.trend, ['trend', ...words, '--db', db])).cells.map(({ label }) => label);

test.each([
  ['ls cells', ['ls', 'cells'], 24],
  ['compare', ['compare', 'latest~1', 'latest'], 24],
])('each row of %s, typed back, is its cell: as one argument, as several, as a filter', async (_, args, count) => {
  const rows = await rowsOf(...args);
  expect(new Set(rows.map((words) => words.join(' '))).size).toBe(count);
  for (const words of rows.slice(0, 6)) {
    const [model, precision, batch = '', graph] = words;
    const label = `${model} ${precision} ${batch.slice(1)}x3x224x224 ${graph} transfers`;
    expect(await trendOf(words.join(' '))).toEqual([label]);
    expect([await trendOf(...words), await trendOf('--filter', words.join(' '))]).toEqual([[label], [label]]);
  }
});

test.each([
  [['b8'], 8],
  [['fp8', 'b8', 'batch>4'], 4],
  [['fp8 | b1'], 16],
  [['VIT_SMALL', '!fp8'], 6],
])('other words: %j are %i cells', async (words, count) => expect(await trendOf(...words)).toHaveLength(count));

test.each([
  ['show', ['show', 'vit_small fp16 b8 graph']],
  ['repro', ['repro', 'vit_small fp16 b8 graph']],
  ['why', ['why', 'vit_small', 'b8', 'no-graph fp16']],
  ['why of two cells', ['why', 'vit_small b8 graph', 'fp16', 'fp8']],
])('%s takes the words', async (_, args) => expect(await inStore(...args)).toMatchObject({ code: 0, stderr: '' }));

test.each([
  [
    ['show', 'vit_small b8'],
    "vit_small b8 is 4 cells: name one, as in 'vit_small fp8 b8 graph', 'vit_small fp8 b8 no-graph', 'vit_small fp16 b8 graph', 'vit_small fp16 b8 no-graph'",
  ],
  [['repro', 'vit_smull fp8'], 'no cell vit_smull fp8: no cell has "vit_smull"; did you mean "vit_small"? '],
  [
    ['trend', 'fp8 fp16 b8 graph vit_base'],
    "no cell fp8 fp16 b8 graph vit_base; nearest: 'vit_base fp8 b8 graph', 'vi",
  ],
  [['why', 'vit_small b8', 'fp16', 'fp9'], 'fp9: neither a git revision here, nor a sweep'],
])('%j says what could have been meant', async (args, line) => {
  const { code, stderr } = await inStore(...args);
  expect([code, stderr.slice(0, line.length + 7)]).toEqual([2, `bench: ${line}`]);
});

test('a name whose words are some of another one, or with spaces and signs, names its own cell', () => {
  const cells = [{}, { level: "c'd & 3" }].map((axisFlags) =>
    imageCell({ model: 'own', precision: 'fp16', batch: 16, axisFlags }),
  );
  const names = cells.map(shortNames(cells));
  expect([names, names.map((name) => namedCell('m.yaml', cells, name))]).toEqual([
    ['own fp16 b16', "own fp16 b16 level=c'd & 3"],
    cells,
  ]);
});
