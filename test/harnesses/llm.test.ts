import { symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../support/bench.ts';

const STUB = join(import.meta.dirname, '..', 'support', 'stub-trtllm-bench.mjs');

/** A matrix of trtllm-bench in a folder of its own, with the stub on PATH. */
async function checkout() {
  const cwd = temporaryFolder();
  const matrix = `models:
  llama:
    harness:
      kind: trtllm-bench
      mode: throughput
      model: meta-llama/Llama-3.1-8B
      dataset: "{isl}.jsonl"
      streaming: true
      concurrency: "{concurrency}"
axes: {isl: [16, 32], concurrency: [1, 8]}
repeats: 1\n`;
  writeFileSync(join(cwd, 'llm.yaml'), matrix);
  symlinkSync(STUB, join(cwd, 'trtllm-bench'));
  const options = { cwd, env: { PATH: [cwd, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter) } };
  for (const isl of ['16', '32']) {
    const sizes = ['--requests', '50', '--input-mean', isl, '--output-mean', '8'];
    await bench(['model', 'make-dataset', `${isl}.jsonl`, ...sizes], options);
  }
  return options;
}

test('a matrix of trtllm-bench runs without trtexec, and its numbers are in the store', async () => {
  const options = await checkout();
  const ran = await bench(['run', 'llm.yaml', '--no-telemetry'], options);
  expect({ code: ran.code, first: ran.stdout.split('\n')[0] }).toEqual({ code: 0, first: '4 runs' });
  const { cells } = JSON.parse((await bench(['ls', 'cells', '--json'], options)).stdout);
  const labels: string[] = cells.map(({ label }: { label: string }) => label);
  expect(labels).toHaveLength(4);
  expect(labels.filter((label) => label.includes(' concurrency=8 isl=32 by trtllm-bench/wall'))).toHaveLength(1);
  expect(labels).toContainEqual(
    expect.stringMatching(
      /^llama mode=throughput checkpoint=meta-llama\/Llama-3.1-8B backend=pytorch dataset=[\da-f]{12} streaming concurrency=1 isl=16 by trtllm-bench\/wall$/,
    ),
  );
  // A lost store is made again from what the runs left.
  const again = await bench(['import', 'artefacts', '--db', 'again.sqlite'], options);
  expect(again.stdout).toContain('4 runs stored');
});
