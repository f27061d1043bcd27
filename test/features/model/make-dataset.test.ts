import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';

const SIZES = ['--requests', '20', '--input-mean', '16', '--output-mean', '8'];

test('a data set, its hash, and the line for the matrix; the same again elsewhere', async () => {
  const cwd = temporaryFolder();
  const made = await bench(['model', 'make-dataset', 'sets/a.jsonl', ...SIZES], { cwd });
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const bytes = readFileSync(join(cwd, 'sets', 'a.jsonl'));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(made.stdout).toBe(
    [
      `sets/a.jsonl: 20 requests, ${(bytes.length / 1024).toFixed(2)} KiB`,
      'tokens in 16, out 8; ids below 32000; seed 1',
      `sha256 ${sha256}`,
      '',
      'In the matrix, of a harness with kind: trtllm-bench, from the folder of the matrix:',
      'dataset: "sets/a.jsonl"',
      '',
    ].join('\n'),
  );
  const again = await bench(['model', 'make-dataset', 'b.jsonl', ...SIZES, '--json'], { cwd });
  const json = OUTPUTS['make-dataset'].parse(JSON.parse(again.stdout));
  expect(json).toMatchObject({ file: 'b.jsonl', sha256, bytes: bytes.length, requests: 20 });
});

test('a file that is there stays, unless it may be replaced', async () => {
  const cwd = temporaryFolder();
  await bench(['model', 'make-dataset', 'a.jsonl', ...SIZES], { cwd });
  const before = readFileSync(join(cwd, 'a.jsonl'), 'utf8');
  const refused = await bench(['model', 'make-dataset', 'a.jsonl', ...SIZES, '--seed', '2'], { cwd });
  const stderr = 'bench: a.jsonl exists: --force replaces it\n';
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr });
  expect(readFileSync(join(cwd, 'a.jsonl'), 'utf8')).toBe(before);
  await bench(['model', 'make-dataset', 'a.jsonl', ...SIZES, '--seed', '2', '--force'], { cwd });
  expect(readFileSync(join(cwd, 'a.jsonl'), 'utf8')).not.toBe(before);
});

test.each([
  [['--requests', '0'], /'--requests <n>' argument '0' is invalid. must be a whole number from 1 on/],
  [['--input-mean', '0'], /must be a number above 0/],
  [['--output-stdev', '-1'], /must be a number from 0 on/],
  [['--seed', '1.5'], /must be a whole number from 0 on/],
])('refused: %j', async (wrong, problem) => {
  const args = ['model', 'make-dataset', 'a.jsonl', ...SIZES, ...wrong];
  expect(await bench(args, { cwd: temporaryFolder() })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(problem),
  });
});
