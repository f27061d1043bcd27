import { expect, test } from 'vitest';

import type { CellFields } from '../../../src/matrix/matrix.ts';
import { readFilter } from '../../../src/matrix/filter.ts';

const CELL: CellFields = {
  values: new Map<string, string | number | boolean>([
    ['model', 'vit_small (v2)'],
    ['precision', 'fp8'],
    ['batch', 8],
    ['cudaGraph', true],
    ['memPoolSize', 'workspace:1GiB,dlaSRAM:1MiB'],
    ['key', 'dead0123456789'],
  ]),
  names: ['--maxAuxStreams', 'memPoolSize'],
  words: ['vit_small (v2)', 'vit_small', '(v2)', 'fp8', 'b8', '8x3x224x224', 'graph', 'ids:8x128,mask:8x128'],
};
const OTHER: CellFields = { values: new Map(), names: [], words: ['fp16', 'b1', 'no-graph'] };

function isKept(expression: string): boolean {
  const reading = readFilter(expression, [CELL, OTHER]);
  if (reading.kind === 'faulty') throw new Error(reading.problem);
  return reading.filter(CELL);
}

test.each([
  'precision=fp8',
  'precision=fp8 & batch>=8',
  'batch=1,8,32',
  'batch!=1,32',
  'cudaGraph=on',
  'model=vit*',
  "model='vit_small (v2)'",
  'precision=fp16 | batch=8',
  '!precision=fp16 & (batch=1 | batch=8)',
  'memPoolSize=workspace:1GiB,dlaSRAM:1MiB',
  'fp8',
  'FP8 b8 graph',
  "'vit_small (v2)' fp8",
  'small b8',
  'vit* 8x3x224x224',
  'fp16,fp8',
  'b8 batch>4',
  '--maxAuxStreams=unset',
  'dead01 graph',
  'ids:8x128,mask:8x128',
  '!fp16 !(b1)',
])('is kept by: %s', (expression) => expect(isKept(expression)).toBe(true));

test.each([
  'precision=fp',
  'batch!=8',
  'cudaGraph=off',
  'model=small*',
  'precision=fp16 | batch=8 & cudaGraph=off',
  '--maxAuxStreams=4',
  'model>5',
  'fp8 fp16',
  'fp16,b1',
  '!small',
  'no-graph',
  'fp8 batch=1',
])('is not kept by: %s', (expression) => expect(isKept(expression)).toBe(false));

test.each([
  ['', 0, 'a word or a field is needed, not the end'],
  ['bach=8', 0, 'unknown field "bach"; did you mean "batch"?'],
  ['Graph=on', 0, 'unknown field "Graph"; did you mean "cudaGraph"?'],
  ['batch b8', 6, 'one of = != < <= > >= is needed after "batch"'],
  ['batch=', 6, 'a value is needed, not the end'],
  ['batch=8 )', 8, '"&" or "|" is needed before ")"'],
  ['fp8 fp12', 4, 'no cell has "fp12"; did you mean "fp16"?'],
  ['vitt', 0, 'no cell has "vitt"'],
  ['(batch=8', 8, 'a ")" is missing'],
  ["model='vit", 6, 'a quote is not closed'],
  ['batch=8 &', 9, 'a word or a field is needed, not the end'],
  ['batch>=eight', 7, '>= compares numbers, and "eight" is not a number'],
  ['small,b8,precision=fp16', 8, '"," separates values of one field: "&" joins conditions'],
  ['cudaGraph=maybe', 10, '"maybe" is not a value of cudaGraph (known: on, true, yes, 1, off, false, no, 0)'],
])('faults tell their place: %s', (expression, offset, problem) => {
  expect(readFilter(expression, [CELL, OTHER])).toEqual({ kind: 'faulty', offset, problem });
});

test('many stars in a pattern do not take for ever', () => {
  // Backtracking without bounds would outlast the time limit of a test by years.
  expect(isKept(`model=${'a*'.repeat(24)}b`)).toBe(false);
});
