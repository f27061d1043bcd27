import { createHash } from 'node:crypto';

import { expect, test } from 'vitest';

import { tokenDataset } from '../../../src/features/model/make-inputs.ts';

const OPTIONS = {
  requests: 2000,
  input: { mean: 128, stdev: 20 },
  output: { mean: 64, stdev: 3 },
  vocabSize: 1000,
  seed: 1,
};

interface Request {
  readonly task_id: number;
  readonly input_ids: readonly number[];
  readonly output_tokens: number;
}

const requestsOf = (options: typeof OPTIONS): Request[] =>
  [...tokenDataset(options)]
    .join('')
    .trim()
    .split('\n')
    .map((line): Request => JSON.parse(line));
const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const stdevOf = (values: readonly number[]) => {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)));
};

/** The ids were computed by mulberry32 in Python. */
test('the lines that trtllm-bench reads', () => {
  const small = { ...OPTIONS, requests: 2, input: { mean: 3, stdev: 0 }, output: { mean: 4, stdev: 0 } };
  expect([...tokenDataset(small)].join('')).toBe(
    '{"task_id":0,"input_ids":[968,281,612],"output_tokens":4}\n{"task_id":1,"input_ids":[488,138,403],"output_tokens":4}\n',
  );
});

test('the same options give the same bytes, another seed others', () => {
  const hashOf = (options: typeof OPTIONS) =>
    createHash('sha256')
      .update([...tokenDataset(options)].join(''))
      .digest('hex');
  expect(hashOf(OPTIONS)).toBe(hashOf({ ...OPTIONS }));
  expect(hashOf(OPTIONS)).not.toBe(hashOf({ ...OPTIONS, seed: 2 }));
});

test('lengths are normal, rounded up, and ids are of the vocabulary', () => {
  const requests = requestsOf(OPTIONS);
  const inputs = requests.map(({ input_ids }) => input_ids.length);
  // Four standard errors around the mean and half a token for rounding up.
  expect(Math.abs(meanOf(inputs) - 128.5)).toBeLessThan((4 * 20) / Math.sqrt(2000));
  expect(Math.abs(stdevOf(inputs) - 20)).toBeLessThan(1.5);
  expect(Math.abs(meanOf(requests.map((each) => each.output_tokens)) - 64.5)).toBeLessThan(0.3);
  const ids = requests.flatMap(({ input_ids }) => input_ids);
  expect([Math.min, Math.max].map((end) => end(...ids.slice(0, 50_000)))).toEqual([0, 999]);
});

test('no request is shorter than one token', () => {
  const wide = { ...OPTIONS, input: { mean: 1, stdev: 50 }, output: { mean: 1, stdev: 50 } };
  const lengths = requestsOf(wide).map(({ input_ids, output_tokens }) => Math.min(input_ids.length, output_tokens));
  expect(Math.min(...lengths)).toBe(1);
});
