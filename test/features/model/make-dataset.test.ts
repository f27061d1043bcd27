import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { tokenDataset } from '../../../src/features/model/make-inputs.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';

const SIZES = ['--requests', '20', '--input-mean', '16', '--output-mean', '8'];

test('a data set, its hash, and the line for the matrix; the same again elsewhere', async () => {
  const cwd = temporaryFolder();
  const made = await bench(['model', 'make-dataset', 'sets/a.jsonl', ...SIZES], { cwd });
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const bytes = readFileSync(join(cwd, 'sets', 'a.jsonl'));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(made.stdout.split('\n')).toEqual([
    `sets/a.jsonl: 20 requests, ${(bytes.length / 1024).toFixed(2)} KiB, sha256 ${sha256}`,
    '',
    'In the matrix, of a harness with kind: trtllm-bench, from the folder of the matrix:',
    'dataset: "sets/a.jsonl"',
    '',
  ]);
  const json = await jsonOf(OUTPUTS['make-dataset'], ['model', 'make-dataset', 'b.jsonl', ...SIZES], { cwd });
  expect(json).toMatchObject({ file: 'b.jsonl', sha256, bytes: bytes.length, requests: 20 });
});

test('a file that is there stays, unless it may be replaced', async () => {
  const cwd = temporaryFolder();
  await bench(['model', 'make-dataset', 'a.jsonl', ...SIZES], { cwd });
  const before = readFileSync(join(cwd, 'a.jsonl'), 'utf8');
  const refused = await bench(['model', 'make-dataset', 'a.jsonl', ...SIZES, '--seed', '2'], { cwd });
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: 'bench: a.jsonl exists: --force replaces it\n' });
  expect(readFileSync(join(cwd, 'a.jsonl'), 'utf8')).toBe(before);
  await bench(['model', 'make-dataset', 'a.jsonl', ...SIZES, '--seed', '2', '--force'], { cwd });
  expect(readFileSync(join(cwd, 'a.jsonl'), 'utf8')).not.toBe(before);
});

test.each([
  [['--requests', '0'], /'--requests <n>' argument '0' is invalid. must be a whole number, 1 or more/],
  [['--input-mean', '0'], /must be a number above 0/],
  [['--output-stdev', '-1'], /must be a number, 0 or more/],
  [['--seed', '1.5'], /must be a whole number, 0 or more/],
])('refused: %j', async (wrong, problem) => {
  const args = ['model', 'make-dataset', 'a.jsonl', ...SIZES, ...wrong];
  const stderr = expect.stringMatching(problem);
  expect(await bench(args, { cwd: temporaryFolder() })).toMatchObject({ code: 2, stderr });
});

describe('its requests', () => {
  const OPTIONS = {
    requests: 2000,
    inputTokens: { mean: 128, stdev: 20 },
    outputTokens: { mean: 64, stdev: 3 },
    vocabSize: 1000,
    seed: 1,
  };

  type Request = { readonly task_id: number; readonly input_ids: readonly number[]; readonly output_tokens: number };

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
    const small = { ...OPTIONS, requests: 2, inputTokens: { mean: 3, stdev: 0 }, outputTokens: { mean: 4, stdev: 0 } };
    expect([...tokenDataset(small)].join('')).toBe(
      '{"task_id":0,"input_ids":[968,281,612],"output_tokens":4}\n{"task_id":1,"input_ids":[488,138,403],"output_tokens":4}\n',
    );
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
});
