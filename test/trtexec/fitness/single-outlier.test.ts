import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { torchTensorrtDriver } from '../../../src/harnesses/torch-tensorrt.ts';
import { singleOutlier } from '../../../src/trtexec/fitness/find-flags.ts';
import { GUIDE } from '../../support/recordings.ts';

function flagOf(text: string) {
  const result = torchTensorrtDriver.reports(text, 'out.txt')[0]?.result;
  return result?.kind === 'read' ? singleOutlier(result.reading) : null;
}

const listing = (name: string): string => readFileSync(join(GUIDE, name), 'utf8');

test('the largest time of listing 19 is 4.1 % over its p99', () => {
  expect(flagOf(listing('listing-19-torch-fp16-graph.txt'))).toEqual({
    id: 'loneOutlier',
    effect: 'explained',
    value: expect.closeTo(4.14, 2),
    evidence: 'the largest of 100 times, 56.35 ms, is 4.1 % over p99, 54.11 ms',
  });
});

test.each([
  'listing-10-torch-fp16-b128.txt',
  'listing-14-torch-fp8-b128.txt',
  'listing-16-torch-fp16-b256.txt',
  'listing-17-torch-fp8-b256.txt',
  'listing-20-torch-fp8-graph.txt',
])('none in %s', (name) => {
  expect(flagOf(listing(name))).toBeNull();
});

test('of many runs more than one may lie above p99', () => {
  const text = listing('listing-19-torch-fp16-graph.txt').replace('100 runs', '1000 runs');
  expect(flagOf(text)).toBeNull();
});
